-- known_rows --
-- How many rows the planner believes a table to have.
SELECT reltuples
FROM pg_catalog.pg_class
WHERE oid = $1::text::regclass;

-- analyze_episodes --
-- Only the columns that lookups compare: a vector tells the planner nothing.
ANALYZE episodes (id, tenant_id, butler, session_id, consolidation_status, created_at, expires_at);

-- analyze_facts --
-- Only the columns that lookups compare: a vector tells the planner nothing.
ANALYZE facts (id, tenant_id, scope, subject, predicate, validity, entity_id, source_episode_id, supersedes_id);
