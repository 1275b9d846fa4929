-- lock_fact_keys --
-- Serialise writers of the same keys until the transaction ends; sorted stripes keep two batches from deadlock.
SELECT pg_advisory_xact_lock($1::int, stripe)
FROM unnest($2::int[]) AS stripe;

-- active_facts --
-- The active facts that hold the given (scope, subject, predicate) and (scope, entity, predicate) keys; locked in id
-- order, as everybody locks them.
SELECT
    fact.id, fact.scope, fact.entity_id, fact.subject, fact.predicate,
    fact.content, fact.importance, fact.permanence, fact.tags, fact.metadata
FROM facts AS fact
WHERE fact.tenant_id = $1
    AND fact.validity = 'active'
    AND fact.id IN (
        SELECT holder.id
        FROM unnest($2::text[], $3::text[], $4::text[]) AS key (scope, subject, predicate)
        JOIN facts AS holder
            ON holder.tenant_id = $1
            AND holder.scope = key.scope
            AND holder.subject = key.subject
            AND holder.predicate = key.predicate
        WHERE holder.entity_id IS NULL
            AND holder.validity = 'active'
        UNION ALL
        SELECT holder.id
        FROM unnest($5::text[], $6::uuid[], $7::text[]) AS key (scope, entity_id, predicate)
        JOIN facts AS holder
            ON holder.tenant_id = $1
            AND holder.entity_id = key.entity_id
            AND holder.scope = key.scope
            AND holder.predicate = key.predicate
        WHERE holder.validity = 'active'
    )
ORDER BY fact.id
FOR UPDATE OF fact;

-- supersede_facts --
-- Retire the facts that newer ones replace.
UPDATE facts
SET validity = 'superseded'
WHERE tenant_id = $1
    AND id = ANY($2::uuid[]);

-- confirm_facts --
-- Reset the decay of facts; a confirmed fact no longer fades.
UPDATE facts
SET last_confirmed_at = GREATEST(last_confirmed_at, $3::timestamptz),
    metadata = metadata - 'status'
WHERE tenant_id = $1
    AND id = ANY($2::uuid[]);

-- insert_facts --
-- Insert facts from parallel arrays and their vectors.
INSERT INTO facts (
    id, tenant_id, subject, predicate, content, embedding, search_vector, importance, confidence, decay_rate,
    permanence, scope, validity, supersedes_id, entity_id, source_butler, source_episode_id, tags, metadata,
    created_at, last_confirmed_at
)
SELECT
    fact.id,
    $3,
    fact.subject,
    fact.predicate,
    fact.content,
    incoming_vectors.embedding,
    memory_search_vector(fact.document),
    fact.importance,
    fact.confidence,
    fact.decay_rate,
    fact.permanence,
    fact.scope,
    fact.validity,
    fact.supersedes_id,
    fact.entity_id,
    fact.source_butler,
    fact.source_episode_id,
    fact.tags::jsonb,
    fact.metadata::jsonb,
    $4,
    $4
FROM unnest(
    $5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::float8[], $11::float8[], $12::float8[],
    $13::text[], $14::text[], $15::text[], $16::uuid[], $17::uuid[], $18::text[], $19::uuid[], $20::text[],
    $21::text[]
) WITH ORDINALITY AS fact (
    id, subject, predicate, content, document, importance, confidence, decay_rate,
    permanence, scope, validity, supersedes_id, entity_id, source_butler, source_episode_id, tags,
    metadata, position
)
JOIN incoming_vectors USING (position);

-- lock_entities --
-- Entities of the tenant among the ids; the lock keeps a merge from passing while facts are attached.
SELECT id, metadata ->> 'merged_into' AS merged_into
FROM entities
WHERE tenant_id = $1
    AND id = ANY($2::uuid[])
ORDER BY id
FOR KEY SHARE;

-- existing_episodes --
-- Which of the ids are episodes of the tenant.
SELECT id
FROM episodes
WHERE tenant_id = $1
    AND id = ANY($2::uuid[])
FOR KEY SHARE;
