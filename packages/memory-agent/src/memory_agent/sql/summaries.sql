-- Folding old memories into summaries.

-- old_memories --
-- Summaries stay as they are: to fold them again would cut what they were made to keep. julianday reads every time format.
SELECT id, agent_id, key, content, txid, status, archived, created_at, updated_at
FROM agent_memories
WHERE agent_id = :agent_id
    AND archived = 0
    AND julianday(updated_at) < julianday(:cutoff)
    AND key NOT GLOB 'summary:*'
ORDER BY updated_at, rowid

-- archive_memories --
-- A trigger takes them out of the index; their time stays that of the last edit.
UPDATE agent_memories
SET archived = 1
WHERE id IN (SELECT value FROM json_each(:ids))
