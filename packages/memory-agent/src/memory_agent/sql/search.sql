-- Candidates of a fast search, with their terms.

-- candidates --
-- CROSS JOIN keeps the full-text index outside, so that its rank order is the order and nothing is sorted.
SELECT m.id, m.agent_id, m.key, m.content, m.txid, m.status, m.archived, m.created_at, m.updated_at, d.terms
FROM memory_search AS s
CROSS JOIN memory_documents AS d ON d.document = s.rowid
CROSS JOIN agent_memories AS m ON m.id = d.memory_id
WHERE memory_search MATCH :expression
    AND m.agent_id = :agent_id
    AND m.archived = 0
ORDER BY s.rank
LIMIT :limit

-- candidates_of_category --
-- The same, of one category.
SELECT m.id, m.agent_id, m.key, m.content, m.txid, m.status, m.archived, m.created_at, m.updated_at, d.terms
FROM memory_search AS s
CROSS JOIN memory_documents AS d ON d.document = s.rowid
CROSS JOIN agent_memories AS m ON m.id = d.memory_id
CROSS JOIN memory_categories AS c ON c.memory_id = m.id
WHERE memory_search MATCH :expression
    AND m.agent_id = :agent_id
    AND m.archived = 0
    AND c.category = :category
ORDER BY s.rank
LIMIT :limit
