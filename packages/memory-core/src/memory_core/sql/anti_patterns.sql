-- rules_to_invert --
-- Rules that feedback has marked for inversion, in all tenants or in one.
SELECT
    tenant_id, id, content,
    CASE jsonb_typeof(metadata -> 'harmful_reasons')
        WHEN 'array' THEN metadata -> 'harmful_reasons'
        ELSE '[]'::jsonb
    END::text AS reasons
FROM rules
WHERE ($1::text IS NULL OR tenant_id = $1)
    AND metadata @> '{"needs_inversion": true}'
    AND NOT metadata @> '{"forgotten": true}'
    AND maturity <> 'anti_pattern'
ORDER BY tenant_id, id
LIMIT $2;

-- rule_to_invert --
-- One rule with what an inversion needs to know of it.
SELECT
    tenant_id, id, content, maturity,
    metadata @> '{"forgotten": true}' AS forgotten,
    CASE jsonb_typeof(metadata -> 'harmful_reasons')
        WHEN 'array' THEN metadata -> 'harmful_reasons'
        ELSE '[]'::jsonb
    END::text AS reasons
FROM rules
WHERE tenant_id = $1
    AND id = $2;

-- invert_rules --
-- Turn rules into warnings, each with its event; one that changed since it was read is left for the next time, and
-- so is, where only due ones are asked for, one that has helped meanwhile.
WITH warning AS (
    SELECT told.tenant_id, told.id, told.content, told.warning, told.document, told.position, old.maturity
    FROM unnest($3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[])
        WITH ORDINALITY AS told (tenant_id, id, content, warning, document, position)
    JOIN rules AS old
        ON old.tenant_id = told.tenant_id
        AND old.id = told.id
        AND old.content = told.content
        AND old.maturity <> 'anti_pattern'
        AND NOT old.metadata @> '{"forgotten": true}'
        AND (NOT $11::boolean OR old.metadata @> '{"needs_inversion": true}')
    FOR NO KEY UPDATE OF old
),
inverted AS (
    UPDATE rules AS rule
    SET maturity = 'anti_pattern',
        content = warning.warning,
        embedding = ($2::real[])[(warning.position - 1) * $1::int + 1 : warning.position * $1::int]::vector,
        search_vector = memory_search_vector(warning.document),
        last_evaluated_at = GREATEST(rule.last_evaluated_at, $8::timestamptz),
        last_confirmed_at = GREATEST(rule.last_confirmed_at, $8::timestamptz),
        metadata = (rule.metadata - 'needs_inversion' - 'status')
            || jsonb_build_object('original_content', warning.content)
    FROM warning
    WHERE rule.tenant_id = warning.tenant_id
        AND rule.id = warning.id
    RETURNING rule.tenant_id, rule.id, warning.maturity AS old_maturity
),
recorded AS (
    INSERT INTO memory_events (
        tenant_id, actor, request_id, occurred_at, created_at, event_type, entity_type, entity_id, payload
    )
    SELECT
        inverted.tenant_id, $9, $10, $8, $8, 'rule_inverted', 'rule', inverted.id,
        jsonb_build_object('from', inverted.old_maturity, 'to', 'anti_pattern')
    FROM inverted
)
SELECT tenant_id, id
FROM inverted;
