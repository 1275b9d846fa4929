-- insert_links --
-- Link each source to its target; links that exist stay as they are.
INSERT INTO memory_links (tenant_id, source_type, source_id, target_type, target_id, relation, created_at)
SELECT $1, $2, link.source_id, $3, link.target_id, $4, $5
FROM unnest($6::uuid[], $7::uuid[]) AS link (source_id, target_id)
ON CONFLICT DO NOTHING
RETURNING source_id, target_id;

-- existing_memories --
-- Which of the (type, id) pairs are memories of the tenant.
SELECT memory.type, memory.id
FROM unnest($2::text[], $3::uuid[]) AS memory (type, id)
WHERE (memory.type = 'episode' AND EXISTS (SELECT FROM episodes WHERE tenant_id = $1 AND id = memory.id))
    OR (memory.type = 'fact' AND EXISTS (SELECT FROM facts WHERE tenant_id = $1 AND id = memory.id))
    OR (memory.type = 'rule' AND EXISTS (SELECT FROM rules WHERE tenant_id = $1 AND id = memory.id));

-- links_of --
-- The links of one memory, in the asked direction, newest first.
SELECT source_type, source_id, target_type, target_id, relation, created_at
FROM memory_links
WHERE tenant_id = $1
    AND (
        ($4 IN ('outgoing', 'both') AND source_type = $2 AND source_id = $3)
        OR ($4 IN ('incoming', 'both') AND target_type = $2 AND target_id = $3)
    )
ORDER BY created_at DESC, source_id, target_id;
