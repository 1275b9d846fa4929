-- insert_episodes --
-- Insert episodes from parallel arrays; the vectors come as one flat array.
INSERT INTO episodes (
    id, tenant_id, butler, session_id, content, embedding, search_vector,
    importance, created_at, expires_at, metadata
)
SELECT
    episode.id,
    $1,
    episode.butler,
    episode.session_id,
    episode.content,
    ($3::real[])[(episode.position - 1) * $2::int + 1 : episode.position * $2::int]::vector,
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
);
