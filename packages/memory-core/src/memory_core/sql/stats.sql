-- memory_stats --
-- How many memories a tenant has in each state of their lives; the scope bounds facts and rules.
SELECT
    episode.total, episode.pending, episode.consolidated, episode.failed, episode.dead_letter, episode.expired,
    episode.backlog_age_hours,
    fact.total AS facts_total, fact.active AS facts_active, fact.fading AS facts_fading,
    fact.superseded AS facts_superseded, fact.expired AS facts_expired, fact.retracted AS facts_retracted,
    rule.total AS rules_total, rule.candidate AS rules_candidate, rule.established AS rules_established,
    rule.proven AS rules_proven, rule.anti_pattern AS rules_anti_pattern, rule.fading AS rules_fading,
    rule.forgotten AS rules_forgotten
FROM (
    SELECT
        count(*) AS total,
        count(*) FILTER (WHERE consolidation_status = 'pending') AS pending,
        count(*) FILTER (WHERE consolidation_status = 'consolidated') AS consolidated,
        count(*) FILTER (WHERE consolidation_status = 'failed') AS failed,
        count(*) FILTER (WHERE consolidation_status = 'dead_letter') AS dead_letter,
        count(*) FILTER (WHERE expires_at <= $3) AS expired,
        EXTRACT(
            EPOCH FROM $3::timestamptz - min(created_at) FILTER (WHERE consolidation_status = 'pending')
        )::float8 / 3600 AS backlog_age_hours
    FROM episodes
    WHERE tenant_id = $1
) AS episode
CROSS JOIN (
    SELECT
        count(*) AS total,
        count(*) FILTER (
            WHERE validity = 'active' AND metadata ->> 'status' IS DISTINCT FROM 'fading'
        ) AS active,
        count(*) FILTER (WHERE validity = 'active' AND metadata ->> 'status' = 'fading') AS fading,
        count(*) FILTER (WHERE validity = 'superseded') AS superseded,
        count(*) FILTER (WHERE validity = 'expired') AS expired,
        count(*) FILTER (WHERE validity = 'retracted') AS retracted
    FROM facts
    WHERE tenant_id = $1
        AND ($2::text IS NULL OR scope IN ('global', $2))
) AS fact
CROSS JOIN (
    SELECT
        count(*) AS total,
        count(*) FILTER (WHERE in_use AND maturity = 'candidate') AS candidate,
        count(*) FILTER (WHERE in_use AND maturity = 'established') AS established,
        count(*) FILTER (WHERE in_use AND maturity = 'proven') AS proven,
        count(*) FILTER (WHERE in_use AND maturity = 'anti_pattern') AS anti_pattern,
        count(*) FILTER (WHERE in_use AND metadata ->> 'status' = 'fading') AS fading,
        count(*) FILTER (WHERE NOT in_use) AS forgotten
    FROM (
        SELECT maturity, metadata, (metadata -> 'forgotten') IS DISTINCT FROM 'true'::jsonb AS in_use
        FROM rules
        WHERE tenant_id = $1
            AND ($2::text IS NULL OR scope IN ('global', $2))
    ) AS scoped
) AS rule;
