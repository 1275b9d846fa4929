-- get_episode --
-- Read an episode and count the reference.
UPDATE episodes
SET reference_count = reference_count + 1,
    last_referenced_at = $3
WHERE tenant_id = $1
    AND id = $2
RETURNING
    id, tenant_id, butler, session_id, content, importance, reference_count, consolidated, consolidation_status,
    consolidation_attempts, last_consolidation_error, next_consolidation_retry_at, retry_count, last_error,
    created_at, last_referenced_at, expires_at, metadata;

-- get_fact --
-- Read a fact and count the reference.
UPDATE facts
SET reference_count = reference_count + 1,
    last_referenced_at = $3
WHERE tenant_id = $1
    AND id = $2
RETURNING
    id, tenant_id, subject, predicate, content, importance, confidence, decay_rate, permanence, source_butler,
    source_episode_id, supersedes_id, entity_id, validity, scope, reference_count, created_at,
    last_referenced_at, last_confirmed_at, tags, metadata;

-- get_rule --
-- Read a rule and count the reference.
UPDATE rules
SET reference_count = reference_count + 1,
    last_referenced_at = $3
WHERE tenant_id = $1
    AND id = $2
RETURNING
    id, tenant_id, content, scope, maturity, confidence, decay_rate, permanence, effectiveness_score,
    applied_count, success_count, harmful_count, source_episode_id, source_butler, created_at, last_applied_at,
    last_evaluated_at, last_confirmed_at, reference_count, last_referenced_at, tags, metadata;

-- lock_fact --
-- The state of a fact, kept until the transaction ends.
SELECT validity AS state
FROM facts
WHERE tenant_id = $1
    AND id = $2
FOR UPDATE;

-- lock_rule --
-- The state of a rule, kept until the transaction ends.
SELECT CASE WHEN metadata -> 'forgotten' = 'true'::jsonb THEN 'forgotten' ELSE 'active' END AS state
FROM rules
WHERE tenant_id = $1
    AND id = $2
FOR UPDATE;

-- lock_episode --
-- The state of an episode, kept until the transaction ends.
SELECT
    CASE
        WHEN expires_at IS NULL OR expires_at > $3 THEN 'active'
        WHEN EXISTS (
            SELECT
            FROM memory_events AS event
            WHERE event.tenant_id = $1
                AND event.entity_type = 'episode'
                AND event.entity_id = $2
                AND event.event_type = 'episode_expired'
        ) THEN 'forgotten'
        ELSE 'expired'
    END AS state
FROM episodes
WHERE tenant_id = $1
    AND id = $2
FOR UPDATE;

-- confirm_fact --
-- Reset the decay of a fact; a confirmed fact no longer fades.
UPDATE facts
SET last_confirmed_at = GREATEST(last_confirmed_at, $3::timestamptz),
    metadata = metadata - 'status'
WHERE tenant_id = $1
    AND id = $2;

-- confirm_rule --
-- Reset the decay of a rule; a confirmed rule no longer fades.
UPDATE rules
SET last_confirmed_at = GREATEST(last_confirmed_at, $3::timestamptz),
    metadata = metadata - 'status'
WHERE tenant_id = $1
    AND id = $2;

-- forget_episode --
-- Let an episode expire at once, if it has not yet.
UPDATE episodes
SET expires_at = LEAST(expires_at, $3)
WHERE tenant_id = $1
    AND id = $2;

-- forget_fact --
-- Retract a fact.
UPDATE facts
SET validity = 'retracted'
WHERE tenant_id = $1
    AND id = $2;

-- forget_rule --
-- Take a rule out of every search.
UPDATE rules
SET metadata = metadata || '{"forgotten": true}'
WHERE tenant_id = $1
    AND id = $2;
