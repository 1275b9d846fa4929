-- begin_search --
-- Settings of this transaction and what a search must know: vector indexes, the active model, the query's terms.
WITH vector_index AS (
    SELECT
        pg_class.relname AS table_name,
        access.amname AS kind,
        (
            SELECT option_value::int
            FROM pg_options_to_table(index_class.reloptions)
            WHERE option_name = 'lists'
        ) AS lists
    FROM pg_index
    JOIN pg_class ON pg_class.oid = pg_index.indrelid
    JOIN pg_class AS index_class ON index_class.oid = pg_index.indexrelid
    JOIN pg_am AS access ON access.oid = index_class.relam
    WHERE pg_index.indrelid IN ('episodes'::regclass, 'facts'::regclass, 'rules'::regclass)
        AND pg_index.indisvalid
        AND access.amname IN ('ivfflat', 'hnsw')
),
common_term AS (
    SELECT
        common.lexeme,
        max(common.frequency) AS frequency,
        sum(common.frequency * pg_class.reltuples) AS expected_rows
    FROM pg_stats
    JOIN pg_class ON pg_class.oid = to_regclass(format('%I.%I', pg_stats.schemaname, pg_stats.tablename))
    CROSS JOIN LATERAL unnest(
        pg_stats.most_common_elems::text::text[], pg_stats.most_common_elem_freqs
    ) AS common (lexeme, frequency)
    WHERE pg_class.oid IN ('episodes'::regclass, 'facts'::regclass, 'rules'::regclass)
        AND pg_stats.tablename = ANY($2::text[])
        AND pg_stats.attname = 'search_vector'
        AND pg_class.reltuples >= $3
    GROUP BY common.lexeme
),
term AS (
    SELECT
        query.lexeme,
        query.place,
        coalesce(common_term.frequency, 0)::float8 AS frequency,
        coalesce(common_term.expected_rows, 0)::float8 AS expected_rows
    FROM unnest(tsvector_to_array(to_tsvector('english', $1))) WITH ORDINALITY AS query (lexeme, place)
    LEFT JOIN common_term USING (lexeme)
)
SELECT
    set_config('plan_cache_mode', 'force_custom_plan', true) AS plans,
    set_config('ivfflat.probes', coalesce((SELECT max(lists) FROM vector_index), 1)::text, true) AS probes,
    set_config('hnsw.ef_search', $4, true) AS ef_search,
    (
        SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true)
        FROM pg_extension
        WHERE extname = 'vector'
            AND string_to_array(extversion, '.')::int[] >= ARRAY[0, 8]
    ) AS iterative_scan,
    ARRAY(SELECT table_name::text FROM vector_index WHERE kind = 'hnsw') AS approximate_tables,
    plainto_tsquery('english', $1)::text AS every_term,
    ARRAY(SELECT lexeme FROM term ORDER BY expected_rows, place) AS lexemes,
    ARRAY(SELECT frequency FROM term ORDER BY expected_rows, place) AS frequencies,
    ARRAY(SELECT expected_rows FROM term ORDER BY expected_rows, place) AS expected_rows;

-- set_sizes --
-- How many memories a search may have to compare, counted no further than needed.
SELECT 'episodes' AS table_name, count(*) AS size
FROM (
    SELECT
    FROM episodes
    WHERE 'episodes' = ANY($3::text[])
        AND tenant_id = $1
        AND ($2::text IS NULL OR butler = $2)
    LIMIT $4
) AS counted
UNION ALL
SELECT 'facts', count(*)
FROM (
    SELECT
    FROM facts
    WHERE 'facts' = ANY($3::text[])
        AND tenant_id = $1
        AND validity = 'active'
        AND ($2::text IS NULL OR scope IN ('global', $2))
    LIMIT $4
) AS counted
UNION ALL
SELECT 'rules', count(*)
FROM (
    SELECT
    FROM rules
    WHERE 'rules' = ANY($3::text[])
        AND tenant_id = $1
        AND ($2::text IS NULL OR scope IN ('global', $2))
    LIMIT $4
) AS counted;

-- known_names --
-- Which of the phrases name a speaker or an entity of the tenant; a person also goes by the first name alone.
SELECT phrase
FROM unnest($2::text[]) AS phrase
WHERE EXISTS (
        SELECT
        FROM episodes
        WHERE tenant_id = $1
            AND memory_speaker(content, metadata) = phrase
    )
    OR EXISTS (
        SELECT
        FROM entities
        WHERE tenant_id = $1
            AND entity_name_grams(tenant_id, search_names, 1)
                @> entity_name_grams($1, fold_entity_name(phrase), LEAST(3, length(fold_entity_name(phrase))))
            AND (
                strpos(search_names, E'\n' || fold_entity_name(phrase) || E'\n') > 0
                OR (entity_type = 'person' AND strpos(search_names, E'\n' || fold_entity_name(phrase) || ' ') > 0)
            )
    );
