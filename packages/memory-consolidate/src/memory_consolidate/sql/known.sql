-- existing_facts --
-- The active facts that a butler sees, those nearest to the batch's episodes first.
WITH batch AS MATERIALIZED (
    SELECT embedding
    FROM episodes
    WHERE tenant_id = $1
        AND id = ANY($3::uuid[])
        AND embedding IS NOT NULL
)
SELECT
    fact.id, fact.subject, fact.predicate, fact.content, fact.permanence, fact.importance, fact.tags, fact.scope,
    fact.last_confirmed_at
FROM facts AS fact
CROSS JOIN LATERAL (
    SELECT min(fact.embedding <=> batch.embedding) AS distance
    FROM batch
) AS nearest
WHERE fact.tenant_id = $1
    AND fact.validity = 'active'
    AND fact.scope IN ('global', $2)
ORDER BY nearest.distance, fact.last_confirmed_at DESC NULLS LAST, fact.id
LIMIT $4;

-- existing_rules --
-- The rules that a butler sees, those nearest to the batch's episodes first.
WITH batch AS MATERIALIZED (
    SELECT embedding
    FROM episodes
    WHERE tenant_id = $1
        AND id = ANY($3::uuid[])
        AND embedding IS NOT NULL
)
SELECT rule.id, rule.content, rule.maturity, rule.tags, rule.scope, rule.last_confirmed_at
FROM rules AS rule
CROSS JOIN LATERAL (
    SELECT min(rule.embedding <=> batch.embedding) AS distance
    FROM batch
) AS nearest
WHERE rule.tenant_id = $1
    AND rule.metadata -> 'forgotten' IS DISTINCT FROM 'true'::jsonb
    AND rule.scope IN ('global', $2)
ORDER BY nearest.distance, rule.last_confirmed_at DESC NULLS LAST, rule.id
LIMIT $4;

-- target_facts --
-- The active facts among the ids that a butler may change.
SELECT id, subject, predicate, importance, permanence, scope, tags, metadata, entity_id
FROM facts
WHERE tenant_id = $1
    AND id = ANY($2::uuid[])
    AND validity = 'active'
    AND scope IN ('global', $3);

-- confirmable_memories --
-- Which of the ids are facts and which are rules that a butler may confirm.
SELECT id, 'fact' AS memory_type
FROM facts
WHERE tenant_id = $1
    AND id = ANY($2::uuid[])
    AND scope IN ('global', $3)
UNION ALL
SELECT id, 'rule' AS memory_type
FROM rules
WHERE tenant_id = $1
    AND id = ANY($2::uuid[])
    AND scope IN ('global', $3);

-- holders --
-- The active facts that hold the given keys, by subject or by entity.
SELECT fact.id, fact.scope, fact.entity_id, fact.subject, fact.predicate, fact.content
FROM unnest($2::text[], $3::text[], $4::text[]) AS key (scope, subject, predicate)
JOIN facts AS fact
    ON fact.tenant_id = $1
    AND fact.scope = key.scope
    AND fact.subject = key.subject
    AND fact.predicate = key.predicate
WHERE fact.entity_id IS NULL
    AND fact.validity = 'active'
UNION
SELECT fact.id, fact.scope, fact.entity_id, fact.subject, fact.predicate, fact.content
FROM unnest($5::text[], $6::uuid[], $7::text[]) AS key (scope, entity_id, predicate)
JOIN facts AS fact
    ON fact.tenant_id = $1
    AND fact.scope = key.scope
    AND fact.entity_id = key.entity_id
    AND fact.predicate = key.predicate
WHERE fact.validity = 'active';

-- same_rule --
-- A rule that says the same, or that once said it before it was turned into a warning.
SELECT id, maturity, content = $3 AS says_it
FROM rules
WHERE tenant_id = $1
    AND scope = $2
    AND metadata -> 'forgotten' IS DISTINCT FROM 'true'::jsonb
    AND (content = $3 OR (maturity = 'anti_pattern' AND metadata ->> 'original_content' = $3))
ORDER BY says_it DESC, id
LIMIT 1;
