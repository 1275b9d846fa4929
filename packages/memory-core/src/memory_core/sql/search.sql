-- nearest --
-- Memories by distance from a vector, in the order that a vector index can give; each table brings its own nearest.
SELECT
    memory_type, id, created_at, importance, confidence, decay_rate, last_confirmed_at, last_referenced_at,
    CASE memory_type
        WHEN 'episode' THEN memory_speaker(content, metadata)
        WHEN 'fact' THEN lower(split_part(subject, ' ', 1))
    END AS about,
    left(content, 1000) AS opening,
    1 - distance AS similarity
FROM (
    (
        SELECT
            'episode' AS memory_type, id, created_at, importance,
            NULL::float8 AS confidence, NULL::float8 AS decay_rate, NULL::timestamptz AS last_confirmed_at,
            last_referenced_at, NULL AS subject, content, metadata,
            embedding <=> $2::real[]::vector AS distance
        FROM episodes
        WHERE 'episode' = ANY($3::text[])
            AND tenant_id = $1
            AND embedding IS NOT NULL
            AND ($4::text IS NULL OR butler = $4)
            AND (expires_at IS NULL OR expires_at > $6)
        ORDER BY embedding <=> $2::real[]::vector
        LIMIT $7
    )
    UNION ALL
    (
        SELECT
            'fact' AS memory_type, id, created_at, importance,
            confidence, decay_rate, last_confirmed_at,
            last_referenced_at, subject, content, metadata,
            embedding <=> $2::real[]::vector AS distance
        FROM facts
        WHERE 'fact' = ANY($3::text[])
            AND tenant_id = $1
            AND embedding IS NOT NULL
            AND validity = 'active'
            AND ($4::text IS NULL OR scope IN ('global', $4))
            AND (
                $5::float8 IS NULL
                OR memory_effective_confidence(confidence, decay_rate, last_confirmed_at, $6) >= $5
            )
        ORDER BY embedding <=> $2::real[]::vector
        LIMIT $7
    )
    UNION ALL
    (
        SELECT
            'rule' AS memory_type, id, created_at, 5.0 AS importance,
            confidence, decay_rate, last_confirmed_at,
            last_referenced_at, NULL AS subject, content, metadata,
            embedding <=> $2::real[]::vector AS distance
        FROM rules
        WHERE 'rule' = ANY($3::text[])
            AND tenant_id = $1
            AND embedding IS NOT NULL
            AND (metadata -> 'forgotten') IS DISTINCT FROM 'true'::jsonb
            AND ($4::text IS NULL OR scope IN ('global', $4))
            AND (
                $5::float8 IS NULL
                OR memory_effective_confidence(confidence, decay_rate, last_confirmed_at, $6) >= $5
            )
        ORDER BY embedding <=> $2::real[]::vector
        LIMIT $7
    )
) AS nearest
ORDER BY distance, created_at DESC, id
LIMIT $7;

-- nearest_exactly --
-- The same from every vector of the filtered set: `+ 0` keeps the planner from an approximate index. Only ids and
-- distances are sorted; the rows of the nearest are looked up after.
SELECT
    memory_type, id, created_at, importance, confidence, decay_rate, last_confirmed_at, last_referenced_at,
    CASE memory_type
        WHEN 'episode' THEN memory_speaker(content, metadata)
        WHEN 'fact' THEN lower(split_part(subject, ' ', 1))
    END AS about,
    left(content, 1000) AS opening,
    1 - distance AS similarity
FROM (
    SELECT
        'episode' AS memory_type, episode.id, episode.created_at, episode.importance,
        NULL::float8 AS confidence, NULL::float8 AS decay_rate, NULL::timestamptz AS last_confirmed_at,
        episode.last_referenced_at, NULL AS subject, episode.content, episode.metadata,
        top.distance
    FROM (
        SELECT id, (embedding <=> $2::real[]::vector) + 0 AS distance
        FROM episodes
        WHERE 'episode' = ANY($3::text[])
            AND tenant_id = $1
            AND embedding IS NOT NULL
            AND ($4::text IS NULL OR butler = $4)
            AND (expires_at IS NULL OR expires_at > $6)
        ORDER BY distance
        LIMIT $7
    ) AS top
    JOIN episodes AS episode USING (id)
    UNION ALL
    SELECT
        'fact' AS memory_type, fact.id, fact.created_at, fact.importance,
        fact.confidence, fact.decay_rate, fact.last_confirmed_at,
        fact.last_referenced_at, fact.subject, fact.content, fact.metadata,
        top.distance
    FROM (
        SELECT id, (embedding <=> $2::real[]::vector) + 0 AS distance
        FROM facts
        WHERE 'fact' = ANY($3::text[])
            AND tenant_id = $1
            AND embedding IS NOT NULL
            AND validity = 'active'
            AND ($4::text IS NULL OR scope IN ('global', $4))
            AND (
                $5::float8 IS NULL
                OR memory_effective_confidence(confidence, decay_rate, last_confirmed_at, $6) >= $5
            )
        ORDER BY distance
        LIMIT $7
    ) AS top
    JOIN facts AS fact USING (id)
    UNION ALL
    SELECT
        'rule' AS memory_type, rule.id, rule.created_at, 5.0 AS importance,
        rule.confidence, rule.decay_rate, rule.last_confirmed_at,
        rule.last_referenced_at, NULL AS subject, rule.content, rule.metadata,
        top.distance
    FROM (
        SELECT id, (embedding <=> $2::real[]::vector) + 0 AS distance
        FROM rules
        WHERE 'rule' = ANY($3::text[])
            AND tenant_id = $1
            AND embedding IS NOT NULL
            AND (metadata -> 'forgotten') IS DISTINCT FROM 'true'::jsonb
            AND ($4::text IS NULL OR scope IN ('global', $4))
            AND (
                $5::float8 IS NULL
                OR memory_effective_confidence(confidence, decay_rate, last_confirmed_at, $6) >= $5
            )
        ORDER BY distance
        LIMIT $7
    ) AS top
    JOIN rules AS rule USING (id)
) AS nearest
ORDER BY distance, created_at DESC, id
LIMIT $7;

-- matching_every --
-- Memories that carry all terms of a query, best first; $8 bounds how many of each type are read and ranked.
SELECT
    memory_type, id, created_at, importance, confidence, decay_rate, last_confirmed_at, last_referenced_at,
    CASE memory_type
        WHEN 'episode' THEN memory_speaker(content, metadata)
        WHEN 'fact' THEN lower(split_part(subject, ' ', 1))
    END AS about,
    left(content, 1000) AS opening,
    rank
FROM (
    SELECT
        'episode' AS memory_type, episode.id, episode.created_at, episode.importance,
        NULL::float8 AS confidence, NULL::float8 AS decay_rate, NULL::timestamptz AS last_confirmed_at,
        episode.last_referenced_at, NULL AS subject, episode.content, episode.metadata,
        top.rank
    FROM (
        SELECT hit.id, ts_rank($9::real[], hit.search_vector, $2::text::tsquery) AS rank
        FROM (
            SELECT id, created_at, search_vector
            FROM episodes
            WHERE 'episode' = ANY($3::text[])
                AND tenant_id = $1
                AND search_vector @@ $2::text::tsquery
                AND ($4::text IS NULL OR butler = $4)
                AND (expires_at IS NULL OR expires_at > $6)
            LIMIT $8
        ) AS hit
        ORDER BY rank DESC, hit.created_at DESC, hit.id
        LIMIT $7
    ) AS top
    JOIN episodes AS episode USING (id)
    UNION ALL
    SELECT
        'fact' AS memory_type, fact.id, fact.created_at, fact.importance,
        fact.confidence, fact.decay_rate, fact.last_confirmed_at,
        fact.last_referenced_at, fact.subject, fact.content, fact.metadata,
        top.rank
    FROM (
        SELECT hit.id, ts_rank($9::real[], hit.search_vector, $2::text::tsquery) AS rank
        FROM (
            SELECT id, created_at, search_vector
            FROM facts
            WHERE 'fact' = ANY($3::text[])
                AND tenant_id = $1
                AND search_vector @@ $2::text::tsquery
                AND validity = 'active'
                AND ($4::text IS NULL OR scope IN ('global', $4))
                AND (
                    $5::float8 IS NULL
                    OR memory_effective_confidence(confidence, decay_rate, last_confirmed_at, $6) >= $5
                )
            LIMIT $8
        ) AS hit
        ORDER BY rank DESC, hit.created_at DESC, hit.id
        LIMIT $7
    ) AS top
    JOIN facts AS fact USING (id)
    UNION ALL
    SELECT
        'rule' AS memory_type, rule.id, rule.created_at, 5.0 AS importance,
        rule.confidence, rule.decay_rate, rule.last_confirmed_at,
        rule.last_referenced_at, NULL AS subject, rule.content, rule.metadata,
        top.rank
    FROM (
        SELECT hit.id, ts_rank($9::real[], hit.search_vector, $2::text::tsquery) AS rank
        FROM (
            SELECT id, created_at, search_vector
            FROM rules
            WHERE 'rule' = ANY($3::text[])
                AND tenant_id = $1
                AND search_vector @@ $2::text::tsquery
                AND (metadata -> 'forgotten') IS DISTINCT FROM 'true'::jsonb
                AND ($4::text IS NULL OR scope IN ('global', $4))
                AND (
                    $5::float8 IS NULL
                    OR memory_effective_confidence(confidence, decay_rate, last_confirmed_at, $6) >= $5
                )
            LIMIT $8
        ) AS hit
        ORDER BY rank DESC, hit.created_at DESC, hit.id
        LIMIT $7
    ) AS top
    JOIN rules AS rule USING (id)
) AS matching
ORDER BY rank DESC, created_at DESC, id
LIMIT $7;

-- matching_some --
-- Memories that carry one of the selecting terms, ranked by all terms and by how short they are.
SELECT
    memory_type, id, created_at, importance, confidence, decay_rate, last_confirmed_at, last_referenced_at,
    CASE memory_type
        WHEN 'episode' THEN memory_speaker(content, metadata)
        WHEN 'fact' THEN lower(split_part(subject, ' ', 1))
    END AS about,
    left(content, 1000) AS opening,
    rank
FROM (
    SELECT
        'episode' AS memory_type, episode.id, episode.created_at, episode.importance,
        NULL::float8 AS confidence, NULL::float8 AS decay_rate, NULL::timestamptz AS last_confirmed_at,
        episode.last_referenced_at, NULL AS subject, episode.content, episode.metadata,
        top.rank
    FROM (
        SELECT hit.id, ts_rank($9::real[], hit.search_vector, $10::text::tsquery, 1) AS rank
        FROM (
            SELECT id, created_at, search_vector
            FROM episodes
            WHERE 'episode' = ANY($3::text[])
                AND tenant_id = $1
                AND search_vector @@ $2::text::tsquery
                AND ($4::text IS NULL OR butler = $4)
                AND (expires_at IS NULL OR expires_at > $6)
            LIMIT $8
        ) AS hit
        ORDER BY rank DESC, hit.created_at DESC, hit.id
        LIMIT $7
    ) AS top
    JOIN episodes AS episode USING (id)
    UNION ALL
    SELECT
        'fact' AS memory_type, fact.id, fact.created_at, fact.importance,
        fact.confidence, fact.decay_rate, fact.last_confirmed_at,
        fact.last_referenced_at, fact.subject, fact.content, fact.metadata,
        top.rank
    FROM (
        SELECT hit.id, ts_rank($9::real[], hit.search_vector, $10::text::tsquery, 1) AS rank
        FROM (
            SELECT id, created_at, search_vector
            FROM facts
            WHERE 'fact' = ANY($3::text[])
                AND tenant_id = $1
                AND search_vector @@ $2::text::tsquery
                AND validity = 'active'
                AND ($4::text IS NULL OR scope IN ('global', $4))
                AND (
                    $5::float8 IS NULL
                    OR memory_effective_confidence(confidence, decay_rate, last_confirmed_at, $6) >= $5
                )
            LIMIT $8
        ) AS hit
        ORDER BY rank DESC, hit.created_at DESC, hit.id
        LIMIT $7
    ) AS top
    JOIN facts AS fact USING (id)
    UNION ALL
    SELECT
        'rule' AS memory_type, rule.id, rule.created_at, 5.0 AS importance,
        rule.confidence, rule.decay_rate, rule.last_confirmed_at,
        rule.last_referenced_at, NULL AS subject, rule.content, rule.metadata,
        top.rank
    FROM (
        SELECT hit.id, ts_rank($9::real[], hit.search_vector, $10::text::tsquery, 1) AS rank
        FROM (
            SELECT id, created_at, search_vector
            FROM rules
            WHERE 'rule' = ANY($3::text[])
                AND tenant_id = $1
                AND search_vector @@ $2::text::tsquery
                AND (metadata -> 'forgotten') IS DISTINCT FROM 'true'::jsonb
                AND ($4::text IS NULL OR scope IN ('global', $4))
                AND (
                    $5::float8 IS NULL
                    OR memory_effective_confidence(confidence, decay_rate, last_confirmed_at, $6) >= $5
                )
            LIMIT $8
        ) AS hit
        ORDER BY rank DESC, hit.created_at DESC, hit.id
        LIMIT $7
    ) AS top
    JOIN rules AS rule USING (id)
) AS matching
ORDER BY rank DESC, created_at DESC, id
LIMIT $7;
