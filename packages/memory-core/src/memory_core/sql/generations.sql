-- hold_generation --
-- Keep the active generation in place until the transaction ends.
SELECT pg_advisory_xact_lock_shared($1::int, 0);

-- replace_generation --
-- Wait until nobody relies on the active generation, and let nobody begin to.
SELECT pg_advisory_xact_lock($1::int, 0);

-- active_generation --
-- The model that made the vectors now stored.
SELECT model, version, dimensions
FROM embedding_versions
WHERE status = 'active';

-- insert_first_generation --
-- Record the model of the first vector ever stored; a concurrent first writer wins.
INSERT INTO embedding_versions (model, version, dimensions, status, created_at, activated_at)
VALUES ($1, $2, $3, 'active', $4, $4)
ON CONFLICT DO NOTHING;

-- column_dimensions --
-- How long a vector the columns take.
SELECT atttypmod
FROM pg_catalog.pg_attribute
WHERE attrelid = 'facts'::regclass
    AND attname = 'embedding';
