-- Cross-references between memories of one agent.

-- documents_with_term --
-- The newest holders of a term; by rowid, because a ranking would have to read every posting.
SELECT rowid
FROM memory_search
WHERE memory_search MATCH :expression
ORDER BY rowid DESC
LIMIT :limit

-- terms_of_documents --
-- What to compare with.
SELECT memory_id, terms
FROM memory_documents
WHERE document IN (SELECT value FROM json_each(:documents))

-- terms_of_memories --
-- What to compare with, by memory.
SELECT memory_id, terms
FROM memory_documents
WHERE memory_id IN (SELECT value FROM json_each(:memories))

-- referring_memories --
-- Who holds a reference to a memory; bounded, so that a much-cited memory can still be saved quickly.
SELECT source_id
FROM memory_cross_refs
WHERE target_id = :memory_id
LIMIT 100

-- forget_cross_refs --
-- Both sides: the scores belong to the words that were.
DELETE FROM memory_cross_refs
WHERE source_id = :memory_id
    OR target_id = :memory_id

-- add_cross_refs --
-- Pairs as JSON arrays of source, target, score.
INSERT INTO memory_cross_refs (source_id, target_id, score, created_at)
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'), :now
FROM json_each(:pairs)
WHERE true
ON CONFLICT (source_id, target_id) DO UPDATE SET score = excluded.score

-- related_memories --
-- From both sides; a pair may be stored in both directions.
SELECT m.id, m.agent_id, m.key, m.content, m.txid, m.status, m.archived, m.created_at, m.updated_at,
    max(r.score) AS score
FROM (
    SELECT target_id AS memory_id, score
    FROM memory_cross_refs
    WHERE source_id = :memory_id
    UNION ALL
    SELECT source_id, score
    FROM memory_cross_refs
    WHERE target_id = :memory_id
) AS r
JOIN agent_memories AS m ON m.id = r.memory_id
WHERE m.archived = 0
GROUP BY m.id
ORDER BY score DESC, m.updated_at DESC, m.id
LIMIT :limit
