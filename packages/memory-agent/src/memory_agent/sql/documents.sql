-- The index of memories: search documents and their term counts.

-- agent_number --
-- The number under which an agent's words are indexed.
SELECT number
FROM memory_agents
WHERE agent_id = :agent_id

-- add_agent --
-- Give an agent its number, once.
INSERT INTO memory_agents (agent_id)
VALUES (:agent_id)
ON CONFLICT (agent_id) DO NOTHING

-- document_exists --
-- Whether a memory is indexed; triggers remove a document that no longer fits.
SELECT 1
FROM memory_documents
WHERE memory_id = :memory_id

-- add_document --
-- Triggers carry it into the full-text index and the term counts.
INSERT INTO memory_documents (memory_id, agent, key_words, content_words, terms)
VALUES (:memory_id, :agent, :key_words, :content_words, :terms)

-- unindexed_memories --
-- Live memories that no document stands for.
SELECT m.id, m.agent_id, m.key, m.content
FROM agent_memories AS m
LEFT JOIN memory_documents AS d ON d.memory_id = m.id
WHERE m.archived = 0
    AND d.document IS NULL

-- count_memories_and_documents --
-- Equal when every live memory is indexed.
SELECT
    (SELECT count(id) FROM agent_memories WHERE archived = 0),
    (SELECT coalesce(sum(documents), 0) FROM memory_agents)

-- document_frequencies --
-- How many documents an agent has (under NULL), and in how many of them each of the given terms occurs.
SELECT NULL AS term, documents
FROM memory_agents
WHERE number = :agent
UNION ALL
SELECT t.term, t.documents
FROM json_each(:terms) AS asked
CROSS JOIN memory_terms AS t ON t.agent = :agent AND t.term = asked.value
