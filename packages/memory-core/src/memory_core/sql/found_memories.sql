-- read_episode --
-- Read the episodes that a search found.
SELECT
    id, tenant_id, butler, session_id, content, importance, reference_count, consolidated, consolidation_status,
    created_at, last_referenced_at, expires_at, metadata
FROM episodes
WHERE tenant_id = $1
    AND id = ANY($2::uuid[]);

-- read_fact --
-- Read the facts that a search found.
SELECT
    id, tenant_id, subject, predicate, content, importance, confidence, decay_rate, permanence, source_butler,
    source_episode_id, supersedes_id, entity_id, validity, scope, reference_count, created_at,
    last_referenced_at, last_confirmed_at, tags, metadata
FROM facts
WHERE tenant_id = $1
    AND id = ANY($2::uuid[]);

-- read_rule --
-- Read the rules that a search found.
SELECT
    id, tenant_id, content, scope, maturity, confidence, decay_rate, permanence, effectiveness_score,
    applied_count, success_count, harmful_count, source_episode_id, source_butler, created_at, last_applied_at,
    last_evaluated_at, last_confirmed_at, reference_count, last_referenced_at, tags, metadata
FROM rules
WHERE tenant_id = $1
    AND id = ANY($2::uuid[]);

-- recall_episode --
-- Read the episodes that a recall returns and count the references; locked in id order, as everybody locks them.
UPDATE episodes
SET reference_count = episodes.reference_count + 1,
    last_referenced_at = GREATEST(episodes.last_referenced_at, $3::timestamptz)
FROM (
    SELECT id
    FROM episodes
    WHERE tenant_id = $1
        AND id = ANY($2::uuid[])
    ORDER BY id
    FOR NO KEY UPDATE
) AS recalled
WHERE episodes.tenant_id = $1
    AND episodes.id = recalled.id
RETURNING
    episodes.id, episodes.tenant_id, episodes.butler, episodes.session_id, episodes.content, episodes.importance,
    episodes.reference_count, episodes.consolidated, episodes.consolidation_status, episodes.created_at,
    episodes.last_referenced_at, episodes.expires_at, episodes.metadata;

-- recall_fact --
-- Read the facts that a recall returns and count the references; locked in id order, as everybody locks them.
UPDATE facts
SET reference_count = facts.reference_count + 1,
    last_referenced_at = GREATEST(facts.last_referenced_at, $3::timestamptz)
FROM (
    SELECT id
    FROM facts
    WHERE tenant_id = $1
        AND id = ANY($2::uuid[])
    ORDER BY id
    FOR NO KEY UPDATE
) AS recalled
WHERE facts.tenant_id = $1
    AND facts.id = recalled.id
RETURNING
    facts.id, facts.tenant_id, facts.subject, facts.predicate, facts.content, facts.importance, facts.confidence,
    facts.decay_rate, facts.permanence, facts.source_butler, facts.source_episode_id, facts.supersedes_id,
    facts.entity_id, facts.validity, facts.scope, facts.reference_count, facts.created_at,
    facts.last_referenced_at, facts.last_confirmed_at, facts.tags, facts.metadata;

-- recall_rule --
-- Read the rules that a recall returns and count the references; locked in id order, as everybody locks them.
UPDATE rules
SET reference_count = rules.reference_count + 1,
    last_referenced_at = GREATEST(rules.last_referenced_at, $3::timestamptz)
FROM (
    SELECT id
    FROM rules
    WHERE tenant_id = $1
        AND id = ANY($2::uuid[])
    ORDER BY id
    FOR NO KEY UPDATE
) AS recalled
WHERE rules.tenant_id = $1
    AND rules.id = recalled.id
RETURNING
    rules.id, rules.tenant_id, rules.content, rules.scope, rules.maturity, rules.confidence, rules.decay_rate,
    rules.permanence, rules.effectiveness_score, rules.applied_count, rules.success_count, rules.harmful_count,
    rules.source_episode_id, rules.source_butler, rules.created_at, rules.last_applied_at,
    rules.last_evaluated_at, rules.last_confirmed_at, rules.reference_count, rules.last_referenced_at,
    rules.tags, rules.metadata;
