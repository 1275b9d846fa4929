-- migrating_generation --
-- The generation that an unfinished run is leading to.
SELECT model, version, dimensions
FROM embedding_versions
WHERE status = 'migrating';

-- begin_generation --
-- Note the generation that the run leads to; one that was in use before may come back.
INSERT INTO embedding_versions (model, version, dimensions, status, created_at)
VALUES ($1, $2, $3, 'migrating', $4)
ON CONFLICT (tenant_id, model, version, dimensions) DO UPDATE
SET status = 'migrating';

-- abandon_generations --
-- Forget an unfinished run towards another generation.
UPDATE embedding_versions
SET status = 'retired',
    retired_at = $1
WHERE status = 'migrating';

-- retire_generation --
-- Take the old generation out of use.
UPDATE embedding_versions
SET status = 'retired',
    retired_at = $1
WHERE status = 'active';

-- activate_generation --
-- Take the new generation into use.
UPDATE embedding_versions
SET status = 'active',
    context_pending = true,
    activated_at = $1,
    retired_at = NULL
WHERE status = 'migrating';

-- count_episodes --
-- Episodes that still lack a vector of the new generation.
SELECT count(*)
FROM episodes
WHERE next_embedding IS NULL;

-- count_facts --
-- Facts that still lack a vector of the new generation.
SELECT count(*)
FROM facts
WHERE next_embedding IS NULL;

-- count_rules --
-- Rules that still lack a vector of the new generation.
SELECT count(*)
FROM rules
WHERE next_embedding IS NULL;

-- next_episodes --
-- The next episodes to embed, in the order of their ids.
SELECT id, content AS document
FROM episodes
WHERE next_embedding IS NULL
    AND id > $1
ORDER BY id
LIMIT $2;

-- next_facts --
-- The next facts to embed, in the order of their ids; the document is the one that store_fact embeds.
SELECT id, subject || ' ' || predicate || ' ' || content AS document
FROM facts
WHERE next_embedding IS NULL
    AND id > $1
ORDER BY id
LIMIT $2;

-- next_rules --
-- The next rules to embed, in the order of their ids.
SELECT id, content AS document
FROM rules
WHERE next_embedding IS NULL
    AND id > $1
ORDER BY id
LIMIT $2;

-- write_episodes --
-- Give episodes, and the turns that they are, their vectors of the new generation.
, turns AS (
    UPDATE session_turns AS turn
    SET next_embedding = l2_normalize(incoming_vectors.embedding)
    FROM unnest($3::uuid[]) WITH ORDINALITY AS memory (id, position)
    JOIN incoming_vectors USING (position)
    WHERE turn.episode_id = memory.id
        AND turn.embedding IS NOT NULL
)
UPDATE episodes
SET next_embedding = incoming_vectors.embedding
FROM unnest($3::uuid[]) WITH ORDINALITY AS memory (id, position)
JOIN incoming_vectors USING (position)
WHERE episodes.id = memory.id;

-- write_facts --
-- Give facts their vectors of the new generation.
UPDATE facts
SET next_embedding = incoming_vectors.embedding
FROM unnest($3::uuid[]) WITH ORDINALITY AS memory (id, position)
JOIN incoming_vectors USING (position)
WHERE facts.id = memory.id;

-- write_rules --
-- Give rules their vectors of the new generation.
UPDATE rules
SET next_embedding = incoming_vectors.embedding
FROM unnest($3::uuid[]) WITH ORDINALITY AS memory (id, position)
JOIN incoming_vectors USING (position)
WHERE rules.id = memory.id;

-- vector_index --
-- How the vector index of a table is made, with the name and the column of the new generation.
SELECT replace(
    regexp_replace(indexdef, '^CREATE INDEX \S+', 'CREATE INDEX CONCURRENTLY IF NOT EXISTS ' || $2),
    '(embedding ',
    '(next_embedding '
)
FROM pg_catalog.pg_indexes
WHERE schemaname = current_schema()
    AND tablename = $1
    AND indexdef LIKE '% (embedding vector_cosine_ops)%';

-- vector_index_name --
-- What the vector index of a table is called.
SELECT indexname
FROM pg_catalog.pg_indexes
WHERE schemaname = current_schema()
    AND tablename = $1
    AND indexdef LIKE '% (embedding vector_cosine_ops)%';

-- half_built_index --
-- The full name of an index that a killed run left half built.
SELECT format('%I.%I', nspname, relname)
FROM pg_catalog.pg_index
JOIN pg_catalog.pg_class ON pg_class.oid = indexrelid
JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = current_schema()
    AND relname = $1
    AND NOT indisvalid;

-- forget_rewritten_rules --
-- Rules that were turned into warnings have another text than when the run read them.
UPDATE rules
SET next_embedding = NULL
WHERE maturity = 'anti_pattern';

-- context_pending --
-- Whether the active generation's vectors are yet to take in their context.
SELECT EXISTS (
    SELECT
    FROM embedding_versions
    WHERE status = 'active'
        AND context_pending
);

-- context_added --
-- Note that the active generation's vectors have taken in their context.
UPDATE embedding_versions
SET context_pending = false
WHERE status = 'active';

-- try_to_be_the_only_run --
-- Keep a second run out for as long as this transaction is open.
SELECT pg_try_advisory_xact_lock($1::int, 1);

-- next_turns --
-- The next turns of sessions to index with their neighbours, tenant by tenant.
SELECT turn.tenant_id, turn.episode_id AS id
FROM session_turns AS turn
WHERE turn.episode_id > $1
ORDER BY turn.episode_id
LIMIT $2;

-- next_sourced_facts --
-- The next facts to index with the episode that each came from.
SELECT tenant_id, id
FROM facts
WHERE source_episode_id IS NOT NULL
    AND id > $1
ORDER BY id
LIMIT $2;
