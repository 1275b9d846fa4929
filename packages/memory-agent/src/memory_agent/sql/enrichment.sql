-- Categories and embeddings of memories.

-- store_category --
-- One per memory.
INSERT INTO memory_categories (memory_id, category, confidence, updated_at)
VALUES (:memory_id, :category, :confidence, :now)
ON CONFLICT (memory_id) DO UPDATE SET
    category = excluded.category,
    confidence = excluded.confidence,
    updated_at = excluded.updated_at

-- store_embedding --
-- One per memory, weighed by the corpus of the moment; searches weigh anew.
INSERT INTO memory_embeddings (memory_id, vector, vocabulary, updated_at)
VALUES (:memory_id, :vector, :vocabulary, :now)
ON CONFLICT (memory_id) DO UPDATE SET
    vector = excluded.vector,
    vocabulary = excluded.vocabulary,
    updated_at = excluded.updated_at

-- stored_category --
-- As it was found when the memory was saved.
SELECT category, confidence
FROM memory_categories
WHERE memory_id = :memory_id

-- memories_of_category --
-- The newest live memories of one category.
SELECT m.id, m.agent_id, m.key, m.content, m.txid, m.status, m.archived, m.created_at, m.updated_at
FROM agent_memories AS m
JOIN memory_categories AS c ON c.memory_id = m.id
WHERE m.agent_id = :agent_id
    AND m.archived = 0
    AND c.category = :category
ORDER BY m.updated_at DESC, m.rowid DESC
LIMIT :limit
