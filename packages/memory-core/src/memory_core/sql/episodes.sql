-- insert_episodes --
-- Insert episodes from parallel arrays and their vectors. A turn of a session comes without a
-- document: it is indexed once its neighbours are known.
INSERT INTO episodes (
    id, tenant_id, butler, session_id, content, embedding, search_vector,
    importance, created_at, expires_at, metadata
)
SELECT
    episode.id,
    $3,
    episode.butler,
    episode.session_id,
    episode.content,
    CASE
        WHEN episode.document IS NOT NULL
        THEN incoming_vectors.embedding
    END,
    memory_search_vector(episode.document),
    episode.importance,
    episode.created_at,
    episode.expires_at,
    episode.metadata::jsonb
FROM unnest(
    $4::uuid[], $5::text[], $6::uuid[], $7::text[], $8::text[],
    $9::float8[], $10::timestamptz[], $11::timestamptz[], $12::text[]
) WITH ORDINALITY AS episode (
    id, butler, session_id, content, document, importance, created_at, expires_at, metadata, position
)
JOIN incoming_vectors USING (position);

-- lock_chosen_ids --
-- Let one transaction at a time store an id that a caller chose; in one order, so that two cannot wait for each other.
SELECT pg_advisory_xact_lock(hashtextextended('butler-memory episode ' || chosen.id, 0))
FROM (
    SELECT DISTINCT unnest($1::text[]) AS id
    ORDER BY id
) AS chosen;

-- created_before --
-- Which of these episodes were ever stored: the audit remembers those that are deleted, too.
SELECT entity_id
FROM memory_events
WHERE tenant_id = $1
    AND entity_type = 'episode'
    AND event_type = 'episode_created'
    AND entity_id = ANY($2::uuid[]);
