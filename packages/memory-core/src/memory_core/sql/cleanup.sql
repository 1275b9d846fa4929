-- lock_expired_episodes --
-- One batch of expired episodes, in all tenants or in one; ones that somebody else holds are left for the next run.
SELECT id
FROM episodes
WHERE ($1::text IS NULL OR tenant_id = $1)
    AND expires_at < $3
    AND (consolidation_status = 'consolidated' OR expires_at < $4)
ORDER BY expires_at, id
LIMIT $2
FOR UPDATE SKIP LOCKED;

-- lock_surplus_episodes --
-- One batch of the oldest consolidated episodes of tenants that keep too many.
WITH crowded AS (
    SELECT tenant_id, count(*) - $3::bigint AS surplus
    FROM episodes
    WHERE ($1::text IS NULL OR tenant_id = $1)
    GROUP BY tenant_id
    HAVING count(*) > $3::bigint
)
SELECT oldest.id
FROM crowded
CROSS JOIN LATERAL (
    SELECT episode.id
    FROM episodes AS episode
    WHERE episode.tenant_id = crowded.tenant_id
        AND episode.consolidation_status = 'consolidated'
    ORDER BY episode.created_at, episode.id
    LIMIT LEAST(crowded.surplus, $2::bigint)
    FOR UPDATE SKIP LOCKED
) AS oldest
LIMIT $2::bigint;

-- delete_episodes --
-- Delete locked episodes, each with an event that remembers which memories it was the source of.
WITH derived AS (
    SELECT memory.source_episode_id, memory.tenant_id, jsonb_agg(memory.id) AS ids
    FROM (
        SELECT source_episode_id, tenant_id, id FROM facts WHERE source_episode_id = ANY($1::uuid[])
        UNION ALL
        SELECT source_episode_id, tenant_id, id FROM rules WHERE source_episode_id = ANY($1::uuid[])
    ) AS memory
    GROUP BY memory.source_episode_id, memory.tenant_id
),
deleted AS (
    DELETE FROM episodes
    WHERE id = ANY($1::uuid[])
    RETURNING tenant_id, id, consolidation_status
)
INSERT INTO memory_events (
    tenant_id, actor, request_id, occurred_at, created_at, event_type, entity_type, entity_id, payload
)
SELECT
    deleted.tenant_id, $2, $3, $4, $4, 'episode_deleted', 'episode', deleted.id,
    jsonb_strip_nulls(jsonb_build_object(
        'from', deleted.consolidation_status, 'reason', $5::text, 'source_of', derived.ids
    ))
FROM deleted
LEFT JOIN derived
    ON derived.source_episode_id = deleted.id
    AND derived.tenant_id = deleted.tenant_id;

-- count_episodes --
-- How many episodes there are, in all tenants or in one.
SELECT count(*)
FROM episodes
WHERE $1::text IS NULL
    OR tenant_id = $1;
