-- lock_sessions --
-- Let one writer at a time extend a session; sorted stripes keep two batches from deadlock.
SELECT pg_advisory_xact_lock($1::int, stripe)
FROM unnest($2::int[]) AS stripe;

-- insert_turns --
-- Note the turns of sessions, in the order told, with what each says on its own; a long one says nothing to others.
INSERT INTO session_turns (episode_id, tenant_id, session_id, created_at, embedding, search_vector)
SELECT
    turn.episode_id,
    $3,
    turn.session_id,
    turn.created_at,
    CASE WHEN turn.words IS NOT NULL THEN l2_normalize(incoming_vectors.embedding) END,
    memory_search_vector(turn.words)
FROM unnest($4::uuid[], $5::uuid[], $6::timestamptz[], $7::text[])
    WITH ORDINALITY AS turn (episode_id, session_id, created_at, words, position)
JOIN incoming_vectors USING (position)
ORDER BY position;

-- hold_with_neighbours --
-- The given turns and those right before and after, kept from others in the order in which all lock them.
SELECT episode.id
FROM episodes AS episode
WHERE episode.tenant_id = $1
    AND episode.id IN (
        SELECT unnest($2::uuid[])
        UNION ALL
        SELECT neighbour.episode_id
        FROM session_turns AS turn
        CROSS JOIN LATERAL (
            (
                SELECT earlier.episode_id
                FROM session_turns AS earlier
                WHERE earlier.tenant_id = turn.tenant_id
                    AND earlier.session_id = turn.session_id
                    AND (earlier.created_at, earlier.position) < (turn.created_at, turn.position)
                ORDER BY earlier.created_at DESC, earlier.position DESC
                LIMIT 1
            )
            UNION ALL
            (
                SELECT later.episode_id
                FROM session_turns AS later
                WHERE later.tenant_id = turn.tenant_id
                    AND later.session_id = turn.session_id
                    AND (later.created_at, later.position) > (turn.created_at, turn.position)
                ORDER BY later.created_at, later.position
                LIMIT 1
            )
        ) AS neighbour
        WHERE turn.tenant_id = $1
            AND turn.episode_id = ANY($2::uuid[])
    )
ORDER BY episode.id
FOR NO KEY UPDATE;

-- index_turns --
-- Index turns with those before and after: a turn's own vector counts thrice, its neighbours' words weigh C.
UPDATE episodes
SET embedding = indexed.embedding,
    search_vector = memory_search_vector(episodes.content) || setweight(indexed.context, 'C')
FROM (
    SELECT
        turn.episode_id,
        l2_normalize(
            turn.embedding + turn.embedding + turn.embedding
            + coalesce(earlier.embedding, turn.embedding) + coalesce(later.embedding, turn.embedding)
        ) AS embedding,
        coalesce(earlier.search_vector, '') || coalesce(later.search_vector, '') AS context
    FROM session_turns AS turn
    LEFT JOIN LATERAL (
        SELECT neighbour.embedding, neighbour.search_vector
        FROM session_turns AS neighbour
        WHERE neighbour.tenant_id = turn.tenant_id
            AND neighbour.session_id = turn.session_id
            AND (neighbour.created_at, neighbour.position) < (turn.created_at, turn.position)
        ORDER BY neighbour.created_at DESC, neighbour.position DESC
        LIMIT 1
    ) AS earlier ON true
    LEFT JOIN LATERAL (
        SELECT neighbour.embedding, neighbour.search_vector
        FROM session_turns AS neighbour
        WHERE neighbour.tenant_id = turn.tenant_id
            AND neighbour.session_id = turn.session_id
            AND (neighbour.created_at, neighbour.position) > (turn.created_at, turn.position)
        ORDER BY neighbour.created_at, neighbour.position
        LIMIT 1
    ) AS later ON true
    WHERE turn.tenant_id = $1
        AND turn.episode_id = ANY($2::uuid[])
        AND turn.embedding IS NOT NULL
) AS indexed
WHERE episodes.tenant_id = $1
    AND episodes.id = indexed.episode_id;

-- index_facts_with_source --
-- Index facts, whose vectors are still their own, with the short episode that each came from: the fact counts thrice,
-- the episode's words weigh C.
UPDATE facts
SET embedding = l2_normalize(
        l2_normalize(facts.embedding) + l2_normalize(facts.embedding) + l2_normalize(facts.embedding)
        + l2_normalize(coalesce(turn.embedding, episode.embedding))
    ),
    search_vector = memory_search_vector(facts.subject || ' ' || facts.predicate || ' ' || facts.content)
        || setweight(coalesce(turn.search_vector, memory_search_vector(episode.content)), 'C')
FROM episodes AS episode
LEFT JOIN session_turns AS turn ON turn.episode_id = episode.id
WHERE facts.tenant_id = $1
    AND facts.id = ANY($2::uuid[])
    AND episode.tenant_id = facts.tenant_id
    AND episode.id = facts.source_episode_id
    AND episode.embedding IS NOT NULL
    AND length(episode.content) <= $3::int;
