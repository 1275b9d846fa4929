-- named_candidates --
-- Entities that have the name in any of theirs: as the canonical name, as an alias, or as a part of one of them.
WITH asked AS MATERIALIZED (
    SELECT folded.name, entity_name_grams($1, folded.name, LEAST(3, length(folded.name))) AS grams
    FROM (SELECT fold_entity_name($2::text) AS name) AS folded
),
named AS (
    SELECT
        entity.id,
        entity.canonical_name,
        entity.entity_type,
        array_remove(entity.aliases, NULL) AS aliases,
        CASE
            WHEN starts_with(entity.search_names, E'\n' || asked.name || E'\n') THEN 'exact'
            WHEN position(E'\n' || asked.name || E'\n' IN entity.search_names) > 0 THEN 'alias'
            ELSE 'prefix'
        END AS name_match,
        starts_with(entity.search_names, E'\n' || asked.name) AS begins_with_name
    FROM asked
    CROSS JOIN entities AS entity
    WHERE entity.tenant_id = $1
        -- Not as a join with asked: beside the condition on the tenant the planner then passes over this index.
        AND entity_name_grams(entity.tenant_id, entity.search_names, 1) @> (SELECT grams FROM asked)
        AND entity.metadata ->> 'merged_into' IS NULL
        AND ($3::text IS NULL OR entity.entity_type = $3)
        AND position(asked.name IN entity.search_names) > 0
)
SELECT id, canonical_name, entity_type, aliases, name_match
FROM named
ORDER BY
    array_position(ARRAY['exact', 'alias', 'prefix'], name_match),
    (id = ANY($4::uuid[])) DESC,
    begins_with_name DESC,
    length(canonical_name),
    canonical_name,
    id
LIMIT $5;

-- prepare_fuzzy --
-- Whether the server can compare names by their trigrams; sets from what similarity on they count as similar.
SELECT
    to_regprocedure('strict_word_similarity(text, text)') IS NOT NULL AS available,
    set_config('pg_trgm.strict_word_similarity_threshold', $1::text, true) AS threshold;

-- fuzzy_candidates --
-- Entities with a name or alias that is similar as a whole; the index finds those with any similar run of words.
WITH asked AS MATERIALIZED (
    SELECT fold_entity_name($2::text) AS name
)
SELECT
    entity.id,
    entity.canonical_name,
    entity.entity_type,
    array_remove(entity.aliases, NULL) AS aliases,
    'fuzzy' AS name_match
FROM asked
CROSS JOIN entities AS entity
CROSS JOIN LATERAL (
    SELECT max(similarity(name.text, asked.name)) AS similarity
    FROM unnest(string_to_array(entity.search_names, E'\n')) AS name (text)
) AS nearest
WHERE entity.tenant_id = $1
    AND entity.search_names %>> (SELECT name FROM asked)
    AND entity.metadata ->> 'merged_into' IS NULL
    AND ($3::text IS NULL OR entity.entity_type = $3)
    AND position(asked.name IN entity.search_names) = 0
    AND nearest.similarity >= $6::real
ORDER BY
    (entity.id = ANY($4::uuid[])) DESC,
    nearest.similarity DESC,
    entity.canonical_name,
    entity.id
LIMIT $5;

-- facts_of_candidates --
-- The active facts of each candidate, in the order of the index that holds them, a bounded number and length of each.
SELECT candidate.id AS entity_id, fact.predicate, fact.content
FROM unnest($2::uuid[]) AS candidate (id)
CROSS JOIN LATERAL (
    SELECT predicate, left(content, $4::int) AS content
    FROM facts
    WHERE tenant_id = $1
        AND entity_id = candidate.id
        AND validity = 'active'
    ORDER BY scope, predicate
    LIMIT $3::int
) AS fact;
