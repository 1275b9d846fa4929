-- lock_stripes --
-- Serialise writers of the same keys until the transaction ends; in ascending order, so that none waits in a circle.
SELECT pg_advisory_xact_lock($1::int, stripe)
FROM unnest($2::int[]) AS stripe;

-- applied_keys --
-- Which of the actions were applied before.
SELECT idempotency_key
FROM consolidation_actions
WHERE tenant_id = $1
    AND idempotency_key = ANY($2::text[]);

-- insert_action --
-- Remember an applied action.
INSERT INTO consolidation_actions (tenant_id, idempotency_key, action, memory_type, memory_id, created_at)
VALUES ($1, $2, $3, $4, $5, $6);
