-- lock_merges --
-- Let one merge of a tenant run at a time.
SELECT pg_advisory_xact_lock($1::int, hashtext($2::text));

-- read_pair --
-- The two entities as they are.
SELECT id, canonical_name, array_remove(aliases, NULL) AS aliases, metadata
FROM entities
WHERE tenant_id = $1
    AND id = ANY($2::uuid[]);

-- try_lock_pair --
-- The two entities, kept from other changes and from new facts until the transaction ends; an error if one is busy.
SELECT id, canonical_name, array_remove(aliases, NULL) AS aliases, metadata
FROM entities
WHERE tenant_id = $1
    AND id = ANY($2::uuid[])
ORDER BY id
FOR UPDATE NOWAIT;

-- lock_pair --
-- The same, waiting for whoever holds one.
SELECT id, canonical_name, array_remove(aliases, NULL) AS aliases, metadata
FROM entities
WHERE tenant_id = $1
    AND id = ANY($2::uuid[])
ORDER BY id
FOR UPDATE;

-- lock_active_facts --
-- The active facts of two entities, kept from other changes until the transaction ends.
SELECT id, entity_id, scope, predicate, confidence
FROM facts
WHERE tenant_id = $1
    AND entity_id = ANY($2::uuid[])
    AND validity = 'active'
ORDER BY id
FOR UPDATE;

-- supersede_facts --
-- Retire the facts that give way in a merge.
UPDATE facts
SET validity = 'superseded'
WHERE tenant_id = $1
    AND id = ANY($2::uuid[]);

-- name_predecessors --
-- Say which fact a winner superseded, unless it names an earlier one of its own.
UPDATE facts AS winner
SET supersedes_id = pair.loser_id
FROM unnest($2::uuid[], $3::uuid[]) AS pair (winner_id, loser_id)
WHERE winner.tenant_id = $1
    AND winner.id = pair.winner_id
    AND winner.supersedes_id IS NULL;

-- repoint_facts --
-- Attach every fact of the source to the target, its history included.
UPDATE facts
SET entity_id = $3
WHERE tenant_id = $1
    AND entity_id = $2
RETURNING id;

-- enrich_target --
-- Give the target the source's names and metadata; the target's own metadata win.
UPDATE entities
SET aliases = aliases || $3::text[],
    metadata = $4::text::jsonb || metadata,
    updated_at = $5
WHERE tenant_id = $1
    AND id = $2;

-- tombstone_source --
-- Leave the source as a pointer to the target.
UPDATE entities
SET metadata = metadata || jsonb_build_object('merged_into', $3::uuid::text),
    updated_at = $4
WHERE tenant_id = $1
    AND id = $2;
