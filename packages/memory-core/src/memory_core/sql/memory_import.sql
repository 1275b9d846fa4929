-- Each import statement takes JSON texts in $2 and inserts those whose id is new; what is there stays as it is.
-- It answers with the ids that are new and with how many were there already; the rest are in another row's way.

-- import_entity --
-- Insert entities.
WITH told AS (
    SELECT
        entity.id, entity.canonical_name, entity.entity_type, entity.aliases, entity.metadata, entity.created_at,
        entity.updated_at
    FROM unnest($2::text[]) AS line (text)
    CROSS JOIN LATERAL jsonb_to_record(line.text::jsonb) AS entity (
        id uuid, canonical_name text, entity_type text, aliases text[], metadata jsonb, created_at timestamptz,
        updated_at timestamptz
    )
),
inserted AS (
    INSERT INTO entities (
        id, tenant_id, canonical_name, entity_type, aliases, metadata, created_at, updated_at
    )
    SELECT id, $1, canonical_name, entity_type, aliases, metadata, created_at, updated_at
    FROM told
    ON CONFLICT DO NOTHING
    RETURNING id
)
SELECT
    ARRAY(SELECT id FROM inserted) AS inserted,
    (SELECT count(*) FROM told JOIN entities AS kept ON kept.id = told.id AND kept.tenant_id = $1) AS unchanged;

-- entities_of_same_name --
-- For entities whose name another one has here: whose place it takes.
SELECT told.id AS told_id, kept.id AS kept_id
FROM unnest($2::uuid[], $3::text[], $4::text[]) AS told (id, canonical_name, entity_type)
JOIN entities AS kept
    ON kept.tenant_id = $1
    AND kept.canonical_name = told.canonical_name
    AND kept.entity_type = told.entity_type
    AND kept.id <> told.id;

-- redirect_merges --
-- Let entities that were merged into one whose place another takes point to that one.
UPDATE entities
SET metadata = entities.metadata || jsonb_build_object('merged_into', place.kept_id::text)
FROM unnest($2::uuid[], $3::uuid[]) AS place (told_id, kept_id)
WHERE entities.tenant_id = $1
    AND entities.metadata ->> 'merged_into' = place.told_id::text;

-- import_episode --
-- Insert episodes.
WITH told AS (
    SELECT
        episode.id, episode.butler, episode.session_id, episode.content, episode.importance,
        episode.reference_count, episode.consolidation_status, episode.consolidation_attempts,
        episode.last_consolidation_error, episode.next_consolidation_retry_at, episode.created_at,
        episode.last_referenced_at, episode.expires_at, episode.metadata, episode.embedding, episode.search_vector
    FROM unnest($2::text[]) AS line (text)
    CROSS JOIN LATERAL jsonb_to_record(line.text::jsonb) AS episode (
        id uuid, butler text, session_id uuid, content text, importance float8, reference_count int,
        consolidation_status text, consolidation_attempts int, last_consolidation_error text,
        next_consolidation_retry_at timestamptz, created_at timestamptz, last_referenced_at timestamptz,
        expires_at timestamptz, metadata jsonb, embedding text, search_vector text
    )
),
inserted AS (
    INSERT INTO episodes (
        id, tenant_id, butler, session_id, content, importance, reference_count, consolidation_status,
        consolidation_attempts, last_consolidation_error, next_consolidation_retry_at, created_at,
        last_referenced_at, expires_at, metadata, embedding, search_vector
    )
    SELECT
        id, $1, butler, session_id, content, importance, reference_count, consolidation_status,
        consolidation_attempts, last_consolidation_error, next_consolidation_retry_at, created_at,
        last_referenced_at, expires_at, metadata, embedding::vector,
        COALESCE(search_vector::tsvector, memory_search_vector(content))
    FROM told
    ON CONFLICT DO NOTHING
    RETURNING id
)
SELECT
    ARRAY(SELECT id FROM inserted) AS inserted,
    (SELECT count(*) FROM told JOIN episodes AS kept ON kept.id = told.id AND kept.tenant_id = $1) AS unchanged;

-- import_session_turn --
-- Insert what turns say on their own, in the order told, where their episodes are here.
WITH told AS (
    SELECT
        turn.episode_id, turn.session_id, turn.created_at, turn.embedding, turn.search_vector, line.position
    FROM unnest($2::text[]) WITH ORDINALITY AS line (text, position)
    CROSS JOIN LATERAL jsonb_to_record(line.text::jsonb) AS turn (
        episode_id uuid, session_id uuid, created_at timestamptz, embedding text, search_vector text
    )
),
inserted AS (
    INSERT INTO session_turns (episode_id, tenant_id, session_id, created_at, embedding, search_vector)
    SELECT
        told.episode_id, $1, told.session_id, told.created_at, told.embedding::vector, told.search_vector::tsvector
    FROM told
    JOIN episodes AS episode
        ON episode.id = told.episode_id
        AND episode.tenant_id = $1
    ORDER BY told.position
    ON CONFLICT DO NOTHING
    RETURNING episode_id
)
SELECT
    ARRAY(SELECT episode_id FROM inserted) AS inserted,
    (
        SELECT count(*)
        FROM told
        JOIN session_turns AS kept ON kept.episode_id = told.episode_id AND kept.tenant_id = $1
    ) AS unchanged;

-- turns_to_make --
-- Turns in the order told whose episodes are here, with what it takes to make them anew.
SELECT
    turn.episode_id, turn.session_id, turn.created_at, episode.content, episode.embedding::real[] AS embedding,
    kept.episode_id IS NOT NULL AS is_kept
FROM unnest($2::text[]) WITH ORDINALITY AS line (text, position)
CROSS JOIN LATERAL jsonb_to_record(line.text::jsonb) AS turn (
    episode_id uuid, session_id uuid, created_at timestamptz
)
JOIN episodes AS episode
    ON episode.id = turn.episode_id
    AND episode.tenant_id = $1
LEFT JOIN session_turns AS kept ON kept.episode_id = turn.episode_id
ORDER BY line.position;

-- import_fact --
-- Insert facts; a source that is not here is left out, and so is a fact whose entity is not.
WITH told AS (
    SELECT
        fact.id, fact.subject, fact.predicate, fact.content, fact.importance, fact.confidence, fact.decay_rate,
        fact.permanence, fact.source_butler, fact.source_episode_id, fact.entity_id, fact.validity, fact.scope,
        fact.reference_count, fact.created_at, fact.last_referenced_at, fact.last_confirmed_at, fact.tags,
        fact.metadata, fact.embedding, fact.search_vector
    FROM unnest($2::text[]) AS line (text)
    CROSS JOIN LATERAL jsonb_to_record(line.text::jsonb) AS fact (
        id uuid, subject text, predicate text, content text, importance float8, confidence float8,
        decay_rate float8, permanence text, source_butler text, source_episode_id uuid, entity_id uuid,
        validity text, scope text, reference_count int, created_at timestamptz, last_referenced_at timestamptz,
        last_confirmed_at timestamptz, tags jsonb, metadata jsonb, embedding text, search_vector text
    )
),
inserted AS (
    INSERT INTO facts (
        id, tenant_id, subject, predicate, content, importance, confidence, decay_rate, permanence, source_butler,
        source_episode_id, entity_id, validity, scope, reference_count, created_at, last_referenced_at,
        last_confirmed_at, tags, metadata, embedding, search_vector
    )
    SELECT
        told.id, $1, told.subject, told.predicate, told.content, told.importance, told.confidence, told.decay_rate,
        told.permanence, told.source_butler, episode.id, entity.id, told.validity, told.scope,
        told.reference_count, told.created_at, told.last_referenced_at, told.last_confirmed_at, told.tags,
        told.metadata, told.embedding::vector,
        COALESCE(
            told.search_vector::tsvector,
            memory_search_vector(told.subject || ' ' || told.predicate || ' ' || told.content)
        )
    FROM told
    LEFT JOIN episodes AS episode
        ON episode.id = told.source_episode_id
        AND episode.tenant_id = $1
    LEFT JOIN entities AS entity
        ON entity.id = told.entity_id
        AND entity.tenant_id = $1
    WHERE told.entity_id IS NULL
        OR entity.id IS NOT NULL
    ON CONFLICT DO NOTHING
    RETURNING id
)
SELECT
    ARRAY(SELECT id FROM inserted) AS inserted,
    (SELECT count(*) FROM told JOIN facts AS kept ON kept.id = told.id AND kept.tenant_id = $1) AS unchanged;

-- import_supersession --
-- Say which fact supersedes which, where both are here and nothing is said yet.
WITH told AS (
    SELECT fact.id, fact.supersedes_id
    FROM unnest($2::text[]) AS line (text)
    CROSS JOIN LATERAL jsonb_to_record(line.text::jsonb) AS fact (id uuid, supersedes_id uuid)
),
changed AS (
    UPDATE facts
    SET supersedes_id = told.supersedes_id
    FROM told
    JOIN facts AS old
        ON old.id = told.supersedes_id
        AND old.tenant_id = $1
    WHERE facts.id = told.id
        AND facts.tenant_id = $1
        AND facts.supersedes_id IS NULL
    RETURNING facts.id
)
SELECT
    ARRAY(SELECT id FROM changed) AS inserted,
    (
        SELECT count(*)
        FROM told
        JOIN facts AS kept
            ON kept.id = told.id
            AND kept.tenant_id = $1
            AND kept.supersedes_id = told.supersedes_id
    ) AS unchanged;

-- import_rule --
-- Insert rules; a source that is not here is left out.
WITH told AS (
    SELECT
        rule.id, rule.content, rule.scope, rule.maturity, rule.confidence, rule.decay_rate, rule.permanence,
        rule.effectiveness_score, rule.applied_count, rule.success_count, rule.harmful_count,
        rule.source_episode_id, rule.source_butler, rule.created_at, rule.last_applied_at, rule.last_evaluated_at,
        rule.last_confirmed_at, rule.reference_count, rule.last_referenced_at, rule.tags, rule.metadata,
        rule.embedding, rule.search_vector
    FROM unnest($2::text[]) AS line (text)
    CROSS JOIN LATERAL jsonb_to_record(line.text::jsonb) AS rule (
        id uuid, content text, scope text, maturity text, confidence float8, decay_rate float8, permanence text,
        effectiveness_score float8, applied_count int, success_count int, harmful_count int,
        source_episode_id uuid, source_butler text, created_at timestamptz, last_applied_at timestamptz,
        last_evaluated_at timestamptz, last_confirmed_at timestamptz, reference_count int,
        last_referenced_at timestamptz, tags jsonb, metadata jsonb, embedding text, search_vector text
    )
),
inserted AS (
    INSERT INTO rules (
        id, tenant_id, content, scope, maturity, confidence, decay_rate, permanence, effectiveness_score,
        applied_count, success_count, harmful_count, source_episode_id, source_butler, created_at, last_applied_at,
        last_evaluated_at, last_confirmed_at, reference_count, last_referenced_at, tags, metadata, embedding,
        search_vector
    )
    SELECT
        told.id, $1, told.content, told.scope, told.maturity, told.confidence, told.decay_rate, told.permanence,
        told.effectiveness_score, told.applied_count, told.success_count, told.harmful_count, episode.id,
        told.source_butler, told.created_at, told.last_applied_at, told.last_evaluated_at, told.last_confirmed_at,
        told.reference_count, told.last_referenced_at, told.tags, told.metadata, told.embedding::vector,
        COALESCE(told.search_vector::tsvector, memory_search_vector(told.content))
    FROM told
    LEFT JOIN episodes AS episode
        ON episode.id = told.source_episode_id
        AND episode.tenant_id = $1
    ON CONFLICT DO NOTHING
    RETURNING id
)
SELECT
    ARRAY(SELECT id FROM inserted) AS inserted,
    (SELECT count(*) FROM told JOIN rules AS kept ON kept.id = told.id AND kept.tenant_id = $1) AS unchanged;

-- import_rule_application --
-- Insert applications of rules that are here.
WITH told AS (
    SELECT
        application.id, application.rule_id, application.outcome, application.reason, application.request_id,
        application.context, application.applied_at
    FROM unnest($2::text[]) AS line (text)
    CROSS JOIN LATERAL jsonb_to_record(line.text::jsonb) AS application (
        id uuid, rule_id uuid, outcome text, reason text, request_id text, context jsonb, applied_at timestamptz
    )
),
inserted AS (
    INSERT INTO rule_applications (id, tenant_id, rule_id, outcome, reason, request_id, context, applied_at)
    SELECT
        told.id, $1, told.rule_id, told.outcome, told.reason, told.request_id, told.context, told.applied_at
    FROM told
    JOIN rules AS rule
        ON rule.id = told.rule_id
        AND rule.tenant_id = $1
    ON CONFLICT DO NOTHING
    RETURNING id
)
SELECT
    ARRAY(SELECT id FROM inserted) AS inserted,
    (
        SELECT count(*)
        FROM told
        JOIN rule_applications AS kept ON kept.id = told.id AND kept.tenant_id = $1
    ) AS unchanged;

-- import_link --
-- Insert links of memories that are here; the other end may be gone, as in the database that they come from.
WITH told AS (
    SELECT
        link.source_type, link.source_id, link.target_type, link.target_id, link.relation, link.created_at
    FROM unnest($2::text[]) AS line (text)
    CROSS JOIN LATERAL jsonb_to_record(line.text::jsonb) AS link (
        source_type text, source_id uuid, target_type text, target_id uuid, relation text, created_at timestamptz
    )
),
inserted AS (
    INSERT INTO memory_links (tenant_id, source_type, source_id, target_type, target_id, relation, created_at)
    SELECT $1, source_type, source_id, target_type, target_id, relation, created_at
    FROM told
    WHERE EXISTS (
        SELECT
        FROM (VALUES (told.source_type, told.source_id), (told.target_type, told.target_id)) AS memory (type, id)
        WHERE (memory.type = 'episode' AND EXISTS (SELECT FROM episodes WHERE tenant_id = $1 AND id = memory.id))
            OR (memory.type = 'fact' AND EXISTS (SELECT FROM facts WHERE tenant_id = $1 AND id = memory.id))
            OR (memory.type = 'rule' AND EXISTS (SELECT FROM rules WHERE tenant_id = $1 AND id = memory.id))
    )
    ON CONFLICT DO NOTHING
    RETURNING source_id
)
SELECT
    ARRAY(SELECT source_id FROM inserted) AS inserted,
    (
        SELECT count(*)
        FROM told
        JOIN memory_links AS kept
            ON kept.tenant_id = $1
            AND kept.source_type = told.source_type
            AND kept.source_id = told.source_id
            AND kept.target_type = told.target_type
            AND kept.target_id = told.target_id
    ) AS unchanged;

-- import_event --
-- Append events; the stream is append-only, so one that is there stays as it is.
WITH told AS (
    SELECT
        event.id, event.event_type, event.entity_type, event.entity_id, event.actor, event.request_id,
        event.payload, event.occurred_at, event.created_at
    FROM unnest($2::text[]) AS line (text)
    CROSS JOIN LATERAL jsonb_to_record(line.text::jsonb) AS event (
        id uuid, event_type text, entity_type text, entity_id uuid, actor text, request_id text, payload jsonb,
        occurred_at timestamptz, created_at timestamptz
    )
),
inserted AS (
    INSERT INTO memory_events (
        id, tenant_id, event_type, entity_type, entity_id, actor, request_id, payload, occurred_at, created_at
    )
    SELECT id, $1, event_type, entity_type, entity_id, actor, request_id, payload, occurred_at, created_at
    FROM told
    ON CONFLICT DO NOTHING
    RETURNING id
)
SELECT
    ARRAY(SELECT id FROM inserted) AS inserted,
    (SELECT count(*) FROM told JOIN memory_events AS kept ON kept.id = told.id AND kept.tenant_id = $1) AS unchanged;
