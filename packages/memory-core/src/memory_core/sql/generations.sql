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
