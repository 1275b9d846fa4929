-- waiting_butlers --
-- How many episodes of each butler are not consolidated yet, the longest waiting butler first.
SELECT butler, count(*)::int AS episodes
FROM episodes AS episode
WHERE tenant_id = $1
    AND consolidation_status IN ('pending', 'failed')
    AND ($2::text IS NULL OR butler = $2)
    -- A forgotten episode has expired, but so has one that only waited too long: the audit tells them apart.
    AND (
        expires_at IS NULL
        OR expires_at > COALESCE($3::timestamptz, now())
        OR NOT EXISTS (
            SELECT FROM memory_events AS event
            WHERE event.tenant_id = episode.tenant_id
                AND event.entity_type = 'episode'
                AND event.entity_id = episode.id
                AND event.event_type = 'episode_expired'
                AND event.payload ->> 'reason' = 'forget'
        )
    )
GROUP BY butler
ORDER BY min(created_at), butler;

-- waiting_tenants --
-- The tenants that have episodes to consolidate; for the worker, which serves them all.
SELECT DISTINCT tenant_id
FROM episodes
WHERE consolidation_status IN ('pending', 'failed')
ORDER BY tenant_id;

-- try_lock_group --
-- Take a butler's claim lock until the transaction ends, unless another process is just claiming or applying.
SELECT pg_try_advisory_xact_lock($1::int, $2::int);

-- lock_group --
-- Take a butler's claim lock until the transaction ends.
SELECT pg_advisory_xact_lock($1::int, $2::int);

-- oldest_waiting_episodes --
-- A butler's oldest episodes that are not consolidated yet, with whether they may be taken now.
SELECT
    id,
    left(content, $5::int) AS content,
    created_at,
    consolidation_attempts,
    COALESCE(next_consolidation_retry_at <= COALESCE($4::timestamptz, now()), true) AS due,
    COALESCE(leased_until > COALESCE($4::timestamptz, now()), false) AS leased
FROM episodes AS episode
WHERE tenant_id = $1
    AND butler = $2
    AND consolidation_status IN ('pending', 'failed')
    AND (
        expires_at IS NULL
        OR expires_at > COALESCE($4::timestamptz, now())
        OR NOT EXISTS (
            SELECT FROM memory_events AS event
            WHERE event.tenant_id = episode.tenant_id
                AND event.entity_type = 'episode'
                AND event.entity_id = episode.id
                AND event.event_type = 'episode_expired'
                AND event.payload ->> 'reason' = 'forget'
        )
    )
ORDER BY created_at, id
LIMIT $3
FOR UPDATE SKIP LOCKED;

-- lease_episodes --
-- Take episodes for a while, or take them for longer. The server's clock decides, so that hosts whose clocks differ agree.
UPDATE episodes
SET lease_owner = $3,
    leased_until = COALESCE($4::timestamptz, now()) + make_interval(secs => $5::float8)
WHERE tenant_id = $1
    AND id = ANY($2::uuid[])
    AND (NOT $6::bool OR lease_owner = $3)
RETURNING id;

-- release_episodes --
-- Give episodes back that were taken, as if they had never been.
UPDATE episodes
SET lease_owner = NULL,
    leased_until = NULL
WHERE tenant_id = $1
    AND id = ANY($2::uuid[])
    AND lease_owner = $3;

-- fail_episodes --
-- Count a failed attempt: the next one waits 2^n minutes, a day at most, and after the last one there is none.
UPDATE episodes
SET consolidation_attempts = consolidation_attempts + 1,
    consolidation_status = CASE WHEN consolidation_attempts + 1 >= $5::int THEN 'dead_letter' ELSE 'failed' END,
    next_consolidation_retry_at = CASE
        WHEN consolidation_attempts + 1 < $5::int
            THEN COALESCE($6::timestamptz, now())
                + make_interval(mins => LEAST(power(2, LEAST(consolidation_attempts + 1, 20)), 1440)::int)
    END,
    last_consolidation_error = $4,
    lease_owner = NULL,
    leased_until = NULL
WHERE tenant_id = $1
    AND id = ANY($2::uuid[])
    AND lease_owner = $3
RETURNING id, consolidation_status, consolidation_attempts;

-- requeue_episodes --
-- Give dead letters a new start; the error of their last attempt stays until one succeeds.
UPDATE episodes
SET consolidation_status = 'pending',
    consolidation_attempts = 0,
    next_consolidation_retry_at = NULL
WHERE tenant_id = $1
    AND consolidation_status = 'dead_letter'
    AND ($2::text IS NULL OR butler = $2)
    AND ($3::uuid[] IS NULL OR id = ANY($3))
RETURNING id;

-- lock_sources --
-- The episodes that an answer rests on, oldest first, kept as they are until the transaction ends.
SELECT id, consolidation_status
FROM episodes
WHERE tenant_id = $1
    AND id = ANY($2::uuid[])
    AND ($3::text IS NULL OR lease_owner = $3)
ORDER BY created_at, id
FOR UPDATE;

-- consolidate_episodes --
-- Mark episodes as consolidated.
UPDATE episodes
SET consolidation_status = 'consolidated',
    last_consolidation_error = NULL,
    next_consolidation_retry_at = NULL,
    lease_owner = NULL,
    leased_until = NULL
WHERE tenant_id = $1
    AND id = ANY($2::uuid[]);
