-- Core reads and writes of agent_memories.

-- save_memory --
-- New content is no longer what an earlier transaction id confirmed; the same content still is.
INSERT INTO agent_memories (id, agent_id, key, content, created_at, updated_at)
VALUES (:id, :agent_id, :key, :content, :now, :now)
ON CONFLICT (agent_id, key) DO UPDATE SET
    txid = CASE WHEN content = excluded.content THEN txid END,
    status = CASE WHEN content = excluded.content THEN status ELSE 'pending' END,
    content = excluded.content,
    archived = 0,
    updated_at = excluded.updated_at
RETURNING id, agent_id, key, content, txid, status, archived, created_at, updated_at

-- recall_memory --
-- By key, archived or not: who knows the key asks for this very memory.
SELECT id, agent_id, key, content, txid, status, archived, created_at, updated_at
FROM agent_memories
WHERE agent_id = :agent_id
    AND key = :key

-- delete_memory --
-- The derived rows go before it, so that a connection without foreign keys leaves none behind.
DELETE FROM agent_memories
WHERE agent_id = :agent_id
    AND key = :key

-- list_memories --
-- The newest live memories of an agent.
SELECT id, agent_id, key, content, txid, status, archived, created_at, updated_at
FROM agent_memories
WHERE agent_id = :agent_id
    AND archived = 0
ORDER BY updated_at DESC, rowid DESC
LIMIT :limit

-- search_words --
-- CROSS JOIN keeps the full-text index outside, so that its rank order is the order and nothing is sorted.
SELECT m.id, m.agent_id, m.key, m.content, m.txid, m.status, m.archived, m.created_at, m.updated_at
FROM memory_search AS s
CROSS JOIN memory_documents AS d ON d.document = s.rowid
CROSS JOIN agent_memories AS m ON m.id = d.memory_id
WHERE memory_search MATCH :expression
    AND m.agent_id = :agent_id
    AND m.archived = 0
ORDER BY s.rank
LIMIT :limit

-- search_substring --
-- The fall-back; LIKE ignores the case of ASCII letters.
SELECT id, agent_id, key, content, txid, status, archived, created_at, updated_at
FROM agent_memories
WHERE agent_id = :agent_id
    AND archived = 0
    AND (key LIKE :pattern ESCAPE '\' OR content LIKE :pattern ESCAPE '\')
ORDER BY updated_at DESC, rowid DESC
LIMIT :limit

-- forget_category --
-- Of a memory whose content is new.
DELETE FROM memory_categories
WHERE memory_id = :memory_id

-- forget_embedding --
-- Of a memory whose content is new.
DELETE FROM memory_embeddings
WHERE memory_id = :memory_id
