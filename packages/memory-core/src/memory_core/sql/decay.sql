-- In each statement: rows that somebody else holds are skipped, so that a sweep neither waits nor deadlocks; the next
-- one finds them. The lock re-reads a row that was just confirmed, so that a sweep never acts on an old state.

-- expire_facts --
-- Facts below the expiry threshold end.
WITH due AS (
    SELECT id
    FROM facts
    WHERE ($1::text IS NULL OR tenant_id = $1)
        AND validity = 'active'
        AND decay_rate > 0
        AND memory_effective_confidence(confidence, decay_rate, COALESCE(last_confirmed_at, created_at), $2) < $5
    FOR NO KEY UPDATE SKIP LOCKED
),
changed AS (
    UPDATE facts AS fact
    SET validity = 'expired'
    FROM due
    WHERE fact.id = due.id
    RETURNING
        fact.tenant_id,
        fact.id,
        CASE fact.metadata ->> 'status' WHEN 'fading' THEN 'fading' ELSE 'active' END AS old_state
),
recorded AS (
    INSERT INTO memory_events (
        tenant_id, actor, request_id, occurred_at, created_at, event_type, entity_type, entity_id, payload
    )
    SELECT
        changed.tenant_id, $3, $4, $2, $2, 'fact_expired', 'fact', changed.id,
        jsonb_build_object('from', changed.old_state, 'reason', 'decay')
    FROM changed
)
SELECT count(*)
FROM changed;

-- fade_facts --
-- Facts below the retrieval threshold begin to fade.
WITH due AS (
    SELECT id
    FROM facts
    WHERE ($1::text IS NULL OR tenant_id = $1)
        AND validity = 'active'
        AND decay_rate > 0
        AND metadata ->> 'status' IS DISTINCT FROM 'fading'
        AND memory_effective_confidence(confidence, decay_rate, COALESCE(last_confirmed_at, created_at), $2) >= $5
        AND memory_effective_confidence(confidence, decay_rate, COALESCE(last_confirmed_at, created_at), $2) < $6
    FOR NO KEY UPDATE SKIP LOCKED
),
changed AS (
    UPDATE facts AS fact
    SET metadata = fact.metadata || '{"status": "fading"}'
    FROM due
    WHERE fact.id = due.id
    RETURNING
        fact.tenant_id,
        fact.id,
        'active' AS old_state
),
recorded AS (
    INSERT INTO memory_events (
        tenant_id, actor, request_id, occurred_at, created_at, event_type, entity_type, entity_id, payload
    )
    SELECT
        changed.tenant_id, $3, $4, $2, $2, 'fact_fading', 'fact', changed.id,
        jsonb_build_object('from', changed.old_state, 'reason', 'decay')
    FROM changed
)
SELECT count(*)
FROM changed;

-- recover_facts --
-- Facts that are trusted again no longer fade.
WITH due AS (
    SELECT id
    FROM facts
    WHERE ($1::text IS NULL OR tenant_id = $1)
        AND validity = 'active'
        AND decay_rate > 0
        AND metadata ->> 'status' = 'fading'
        AND memory_effective_confidence(confidence, decay_rate, COALESCE(last_confirmed_at, created_at), $2) >= $5
    FOR NO KEY UPDATE SKIP LOCKED
),
changed AS (
    UPDATE facts AS fact
    SET metadata = fact.metadata - 'status'
    FROM due
    WHERE fact.id = due.id
    RETURNING
        fact.tenant_id,
        fact.id,
        'fading' AS old_state
),
recorded AS (
    INSERT INTO memory_events (
        tenant_id, actor, request_id, occurred_at, created_at, event_type, entity_type, entity_id, payload
    )
    SELECT
        changed.tenant_id, $3, $4, $2, $2, 'fact_recovered', 'fact', changed.id,
        jsonb_build_object('from', changed.old_state, 'reason', 'decay')
    FROM changed
)
SELECT count(*)
FROM changed;

-- forget_rules --
-- Rules below the expiry threshold are forgotten.
WITH due AS (
    SELECT id
    FROM rules
    WHERE ($1::text IS NULL OR tenant_id = $1)
        AND NOT metadata @> '{"forgotten": true}'
        AND decay_rate > 0
        AND memory_effective_confidence(confidence, decay_rate, COALESCE(last_confirmed_at, created_at), $2) < $5
    FOR NO KEY UPDATE SKIP LOCKED
),
changed AS (
    UPDATE rules AS rule
    SET metadata = rule.metadata || '{"forgotten": true}'
    FROM due
    WHERE rule.id = due.id
    RETURNING
        rule.tenant_id,
        rule.id,
        CASE rule.metadata ->> 'status' WHEN 'fading' THEN 'fading' ELSE rule.maturity END AS old_state
),
recorded AS (
    INSERT INTO memory_events (
        tenant_id, actor, request_id, occurred_at, created_at, event_type, entity_type, entity_id, payload
    )
    SELECT
        changed.tenant_id, $3, $4, $2, $2, 'rule_forgotten', 'rule', changed.id,
        jsonb_build_object('from', changed.old_state, 'reason', 'decay')
    FROM changed
)
SELECT count(*)
FROM changed;

-- fade_rules --
-- Rules below the retrieval threshold begin to fade.
WITH due AS (
    SELECT id
    FROM rules
    WHERE ($1::text IS NULL OR tenant_id = $1)
        AND NOT metadata @> '{"forgotten": true}'
        AND decay_rate > 0
        AND metadata ->> 'status' IS DISTINCT FROM 'fading'
        AND memory_effective_confidence(confidence, decay_rate, COALESCE(last_confirmed_at, created_at), $2) >= $5
        AND memory_effective_confidence(confidence, decay_rate, COALESCE(last_confirmed_at, created_at), $2) < $6
    FOR NO KEY UPDATE SKIP LOCKED
),
changed AS (
    UPDATE rules AS rule
    SET metadata = rule.metadata || '{"status": "fading"}'
    FROM due
    WHERE rule.id = due.id
    RETURNING
        rule.tenant_id,
        rule.id,
        rule.maturity AS old_state
),
recorded AS (
    INSERT INTO memory_events (
        tenant_id, actor, request_id, occurred_at, created_at, event_type, entity_type, entity_id, payload
    )
    SELECT
        changed.tenant_id, $3, $4, $2, $2, 'rule_fading', 'rule', changed.id,
        jsonb_build_object('from', changed.old_state, 'reason', 'decay')
    FROM changed
)
SELECT count(*)
FROM changed;

-- recover_rules --
-- Rules that are trusted again no longer fade.
WITH due AS (
    SELECT id
    FROM rules
    WHERE ($1::text IS NULL OR tenant_id = $1)
        AND NOT metadata @> '{"forgotten": true}'
        AND decay_rate > 0
        AND metadata ->> 'status' = 'fading'
        AND memory_effective_confidence(confidence, decay_rate, COALESCE(last_confirmed_at, created_at), $2) >= $5
    FOR NO KEY UPDATE SKIP LOCKED
),
changed AS (
    UPDATE rules AS rule
    SET metadata = rule.metadata - 'status'
    FROM due
    WHERE rule.id = due.id
    RETURNING
        rule.tenant_id,
        rule.id,
        'fading' AS old_state
),
recorded AS (
    INSERT INTO memory_events (
        tenant_id, actor, request_id, occurred_at, created_at, event_type, entity_type, entity_id, payload
    )
    SELECT
        changed.tenant_id, $3, $4, $2, $2, 'rule_recovered', 'rule', changed.id,
        jsonb_build_object('from', changed.old_state, 'reason', 'decay')
    FROM changed
)
SELECT count(*)
FROM changed;
