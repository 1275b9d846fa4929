-- insert_entity --
-- Insert an entity; nothing where its name is taken.
INSERT INTO entities (id, tenant_id, canonical_name, entity_type, aliases, metadata, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5::text[], $6::text::jsonb, $7, $7)
ON CONFLICT ON CONSTRAINT entities_name_key DO NOTHING
RETURNING id;

-- release_name --
-- Take a name from the merged entity that still holds it; what it was called stays in the metadata.
UPDATE entities
SET canonical_name = canonical_name || ' [merged ' || id || ']',
    metadata = metadata || jsonb_build_object('merged_name', canonical_name)
WHERE tenant_id = $1
    AND canonical_name = $2
    AND entity_type = $3
    AND metadata ->> 'merged_into' IS NOT NULL
RETURNING id;

-- holder_of_name --
-- The entity that has a name.
SELECT id
FROM entities
WHERE tenant_id = $1
    AND canonical_name = $2
    AND entity_type = $3;

-- surviving_entity --
-- An entity, or the one that it was merged into, at the end of any chain of merges.
WITH RECURSIVE merged (id, merged_into) AS (
    SELECT id, metadata ->> 'merged_into'
    FROM entities
    WHERE tenant_id = $1
        AND id = $2
    UNION
    SELECT next.id, next.metadata ->> 'merged_into'
    FROM merged
    JOIN entities AS next
        ON next.tenant_id = $1
        AND next.id = merged.merged_into::uuid
)
SELECT
    entity.id, entity.tenant_id, entity.canonical_name, entity.entity_type, entity.aliases, entity.metadata,
    entity.created_at, entity.updated_at
FROM merged
JOIN entities AS entity
    ON entity.tenant_id = $1
    AND entity.id = merged.id
WHERE merged.merged_into IS NULL;

-- lock_entity --
-- An entity, kept from other changes until the transaction ends.
SELECT canonical_name, entity_type, metadata
FROM entities
WHERE tenant_id = $1
    AND id = $2
FOR NO KEY UPDATE;

-- update_entity --
-- Change what is given of an entity and keep the rest.
UPDATE entities
SET canonical_name = COALESCE($3, canonical_name),
    aliases = COALESCE($4::text[], aliases),
    metadata = COALESCE($5::text::jsonb, metadata),
    updated_at = $6
WHERE tenant_id = $1
    AND id = $2
RETURNING id, tenant_id, canonical_name, entity_type, aliases, metadata, created_at, updated_at;
