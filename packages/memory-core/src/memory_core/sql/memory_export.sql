-- Each export statement yields one JSON text per row; $2 tells whether what a memory is found by goes along.

-- exported_counts --
-- How many lines of each kind an export will have.
SELECT
    (SELECT count(*) FROM entities WHERE tenant_id = $1) AS entity,
    (SELECT count(*) FROM episodes WHERE tenant_id = $1) AS episode,
    (SELECT count(*) FROM session_turns WHERE tenant_id = $1) AS session_turn,
    (SELECT count(*) FROM facts WHERE tenant_id = $1) AS fact,
    (SELECT count(*) FROM facts WHERE tenant_id = $1 AND supersedes_id IS NOT NULL) AS supersession,
    (SELECT count(*) FROM rules WHERE tenant_id = $1) AS rule,
    (SELECT count(*) FROM rule_applications WHERE tenant_id = $1) AS rule_application,
    (SELECT count(*) FROM memory_links WHERE tenant_id = $1) AS link,
    (SELECT count(*) FROM memory_events WHERE tenant_id = $1) AS event;

-- export_entity --
-- The tenant's entities.
SELECT row_to_json(line)::text AS line
FROM (
    SELECT 'entity' AS kind, id, canonical_name, entity_type, aliases, metadata, created_at, updated_at
    FROM entities
    WHERE tenant_id = $1
        AND $2::boolean IS NOT NULL
    ORDER BY id
) AS line;

-- export_episode --
-- The tenant's episodes; leases stay behind, because they mean nothing in another database.
SELECT row_to_json(line)::text AS line
FROM (
    SELECT
        'episode' AS kind, id, butler, session_id, content, importance, reference_count, consolidation_status,
        consolidation_attempts, last_consolidation_error, next_consolidation_retry_at, created_at,
        last_referenced_at, expires_at, metadata,
        CASE WHEN $2::boolean THEN embedding::text::json END AS embedding,
        CASE WHEN $2::boolean THEN search_vector::text END AS search_vector
    FROM episodes
    WHERE tenant_id = $1
    ORDER BY id
) AS line;

-- export_session_turn --
-- What each turn of a session says on its own, in the order of the turns.
SELECT row_to_json(line)::text AS line
FROM (
    SELECT
        'session_turn' AS kind, episode_id, session_id, created_at,
        CASE WHEN $2::boolean THEN embedding::text::json END AS embedding,
        CASE WHEN $2::boolean THEN search_vector::text END AS search_vector
    FROM session_turns
    WHERE tenant_id = $1
    ORDER BY session_id, created_at, position
) AS line;

-- export_fact --
-- The tenant's facts; what supersedes what follows in lines of its own, so that they can be read in any order.
SELECT row_to_json(line)::text AS line
FROM (
    SELECT
        'fact' AS kind, id, subject, predicate, content, importance, confidence, decay_rate, permanence,
        source_butler, source_episode_id, entity_id, validity, scope, reference_count, created_at,
        last_referenced_at, last_confirmed_at, tags, metadata,
        CASE WHEN $2::boolean THEN embedding::text::json END AS embedding,
        CASE WHEN $2::boolean THEN search_vector::text END AS search_vector
    FROM facts
    WHERE tenant_id = $1
    ORDER BY id
) AS line;

-- export_supersession --
-- Which fact supersedes which.
SELECT row_to_json(line)::text AS line
FROM (
    SELECT 'supersession' AS kind, id, supersedes_id
    FROM facts
    WHERE tenant_id = $1
        AND supersedes_id IS NOT NULL
        AND $2::boolean IS NOT NULL
    ORDER BY id
) AS line;

-- export_rule --
-- The tenant's rules.
SELECT row_to_json(line)::text AS line
FROM (
    SELECT
        'rule' AS kind, id, content, scope, maturity, confidence, decay_rate, permanence, effectiveness_score,
        applied_count, success_count, harmful_count, source_episode_id, source_butler, created_at,
        last_applied_at, last_evaluated_at, last_confirmed_at, reference_count, last_referenced_at, tags, metadata,
        CASE WHEN $2::boolean THEN embedding::text::json END AS embedding,
        CASE WHEN $2::boolean THEN search_vector::text END AS search_vector
    FROM rules
    WHERE tenant_id = $1
    ORDER BY id
) AS line;

-- export_rule_application --
-- Every recorded application of the tenant's rules.
SELECT row_to_json(line)::text AS line
FROM (
    SELECT 'rule_application' AS kind, id, rule_id, outcome, reason, request_id, context, applied_at
    FROM rule_applications
    WHERE tenant_id = $1
        AND $2::boolean IS NOT NULL
    ORDER BY id
) AS line;

-- export_link --
-- The tenant's links.
SELECT row_to_json(line)::text AS line
FROM (
    SELECT 'link' AS kind, source_type, source_id, target_type, target_id, relation, created_at
    FROM memory_links
    WHERE tenant_id = $1
        AND $2::boolean IS NOT NULL
    ORDER BY source_type, source_id, target_type, target_id
) AS line;

-- export_event --
-- The tenant's audit stream.
SELECT row_to_json(line)::text AS line
FROM (
    SELECT
        'event' AS kind, id, event_type, entity_type, entity_id, actor, request_id, payload, occurred_at, created_at
    FROM memory_events
    WHERE tenant_id = $1
        AND $2::boolean IS NOT NULL
    ORDER BY occurred_at, id
) AS line;
