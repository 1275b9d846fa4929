-- vector_index_state --
-- For each table: whether it has more than $1 rows, and which indexes its vectors have; other columns are not ours.
WITH sized AS (
    SELECT 'episodes' AS name, count(*) > $1::bigint AS is_large
    FROM (SELECT FROM episodes LIMIT $1::bigint + 1) AS counted
    UNION ALL
    SELECT 'facts', count(*) > $1::bigint
    FROM (SELECT FROM facts LIMIT $1::bigint + 1) AS counted
    UNION ALL
    SELECT 'rules', count(*) > $1::bigint
    FROM (SELECT FROM rules LIMIT $1::bigint + 1) AS counted
)
SELECT
    sized.name AS table_name,
    current_schema() AS schema_name,
    sized.is_large,
    array_remove(array_agg(
        index_class.relname::text ORDER BY index_class.relname
    ) FILTER (WHERE method.amname = 'hnsw' AND index.indisvalid), NULL) AS hnsw,
    array_remove(array_agg(
        index_class.relname::text ORDER BY index_class.relname
    ) FILTER (WHERE method.amname = 'ivfflat'), NULL) AS ivfflat,
    array_remove(array_agg(
        index_class.relname::text ORDER BY index_class.relname
    ) FILTER (WHERE method.amname = 'hnsw' AND NOT index.indisvalid), NULL) AS unfinished,
    EXISTS (
        SELECT
        FROM pg_stat_progress_create_index AS building
        WHERE building.relid = to_regclass(current_schema() || '.' || sized.name)
    ) AS is_building
FROM sized
LEFT JOIN pg_attribute AS vectors
    ON vectors.attrelid = to_regclass(current_schema() || '.' || sized.name)
    AND vectors.attname = 'embedding'
LEFT JOIN pg_index AS index
    ON index.indrelid = vectors.attrelid
    AND index.indkey[0] = vectors.attnum
LEFT JOIN pg_class AS index_class ON index_class.oid = index.indexrelid
LEFT JOIN pg_am AS method ON method.oid = index_class.relam
GROUP BY sized.name, sized.is_large
ORDER BY sized.name;

-- build_statement --
-- The statement that builds a vector index beside running work; names are quoted by the server.
SELECT format(
    'CREATE INDEX CONCURRENTLY %I ON %I.%I USING hnsw (embedding %I.vector_cosine_ops) '
    'WITH (m = 16, ef_construction = 64)',
    $3::text, $1::text, $2::text, pg_namespace.nspname
)
FROM pg_extension
JOIN pg_namespace ON pg_namespace.oid = pg_extension.extnamespace
WHERE pg_extension.extname = 'vector';

-- drop_statement --
-- The statement that drops an index beside running work; names are quoted by the server.
SELECT format('DROP INDEX CONCURRENTLY IF EXISTS %I.%I', $1::text, $2::text);
