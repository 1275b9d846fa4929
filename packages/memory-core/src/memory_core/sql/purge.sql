-- purge_episode --
-- Erase an episode; what came from it loses the reference, its turn goes with it.
DELETE FROM episodes
WHERE tenant_id = $1
    AND id = $2
RETURNING id;

-- purge_fact --
-- Erase a fact; the one that superseded it loses the reference.
DELETE FROM facts
WHERE tenant_id = $1
    AND id = $2
RETURNING id;

-- purge_rule --
-- Erase a rule; its recorded applications, and the reasons in them, go with it.
DELETE FROM rules
WHERE tenant_id = $1
    AND id = $2
RETURNING id;

-- purge_links --
-- Erase the links of one memory, in both directions.
DELETE FROM memory_links
WHERE tenant_id = $1
    AND (
        (source_type = $2 AND source_id = $3)
        OR (target_type = $2 AND target_id = $3)
    );

-- purge_actions --
-- Erase the note that consolidation made one memory.
DELETE FROM consolidation_actions
WHERE tenant_id = $1
    AND memory_type = $2
    AND memory_id = $3;

-- session_of_episode --
-- The session that an episode is a turn of, if any.
SELECT session_id
FROM episodes
WHERE tenant_id = $1
    AND id = $2;

-- hold_episode --
-- Keep an episode from becoming the source of anything until the transaction ends.
SELECT id
FROM episodes
WHERE tenant_id = $1
    AND id = $2
FOR UPDATE;

-- facts_found_by_episode --
-- The facts that are found by an episode's words, too; held, because they are to be indexed without them.
SELECT id, subject || ' ' || predicate || ' ' || content AS document
FROM facts
WHERE tenant_id = $1
    AND source_episode_id = $2
ORDER BY id
FOR NO KEY UPDATE;

-- index_facts_alone --
-- Index facts by nothing but what they say.
UPDATE facts
SET embedding = ($2::real[])[(told.position - 1) * $3::int + 1 : told.position * $3::int]::vector,
    search_vector = memory_search_vector(told.document)
FROM unnest($4::uuid[], $5::text[]) WITH ORDINALITY AS told (id, document, position)
WHERE facts.tenant_id = $1
    AND facts.id = told.id;

-- purge_tenant_memory_links --
-- Erase a tenant's links.
DELETE FROM memory_links
WHERE tenant_id = $1;

-- purge_tenant_consolidation_actions --
-- Erase a tenant's notes on consolidation.
DELETE FROM consolidation_actions
WHERE tenant_id = $1;

-- purge_tenant_rule_applications --
-- Erase a tenant's recorded applications.
DELETE FROM rule_applications
WHERE tenant_id = $1;

-- purge_tenant_rules --
-- Erase a tenant's rules.
DELETE FROM rules
WHERE tenant_id = $1;

-- purge_tenant_facts --
-- Erase a tenant's facts.
DELETE FROM facts
WHERE tenant_id = $1;

-- purge_tenant_session_turns --
-- Erase a tenant's turns.
DELETE FROM session_turns
WHERE tenant_id = $1;

-- purge_tenant_episodes --
-- Erase a tenant's episodes.
DELETE FROM episodes
WHERE tenant_id = $1;

-- purge_tenant_entities --
-- Erase a tenant's entities.
DELETE FROM entities
WHERE tenant_id = $1;
