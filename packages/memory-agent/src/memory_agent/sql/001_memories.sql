-- Memories and what finds them. The first table may exist already, in a file of an earlier system.
CREATE TABLE IF NOT EXISTS agent_memories (
    id TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL,
    key TEXT NOT NULL,
    content TEXT NOT NULL,
    txid TEXT DEFAULT NULL,
    status TEXT DEFAULT 'pending',
    archived INTEGER NOT NULL DEFAULT 0,
    created_at TEXT DEFAULT (datetime('now')),
    updated_at TEXT DEFAULT (datetime('now'))
);

CREATE UNIQUE INDEX IF NOT EXISTS agent_memories_by_key
    ON agent_memories (agent_id, key);

CREATE INDEX IF NOT EXISTS agent_memories_by_recency
    ON agent_memories (agent_id, archived, updated_at);

-- A short number per agent prefixes each indexed word, so that a search walks one agent's postings only.
CREATE TABLE memory_agents (
    number INTEGER PRIMARY KEY,
    agent_id TEXT NOT NULL UNIQUE,
    documents INTEGER NOT NULL DEFAULT 0
);

-- One row per memory that can be found. A key of its own: VACUUM may renumber the rowids of agent_memories. The terms come
-- before the words: what every search reads must not lie behind a long text.
CREATE TABLE memory_documents (
    document INTEGER PRIMARY KEY,
    memory_id TEXT NOT NULL UNIQUE REFERENCES agent_memories (id) ON DELETE CASCADE,
    agent INTEGER NOT NULL REFERENCES memory_agents (number),
    terms TEXT NOT NULL,
    key_words TEXT NOT NULL,
    content_words TEXT NOT NULL
);

-- In how many of an agent's documents a term occurs: the idf of TF-IDF, the same for every process.
CREATE TABLE memory_terms (
    agent INTEGER NOT NULL,
    term TEXT NOT NULL,
    documents INTEGER NOT NULL,
    PRIMARY KEY (agent, term)
) WITHOUT ROWID;

-- The words are split and folded before they come here; 'ascii' leaves every other character alone.
CREATE VIRTUAL TABLE memory_search USING fts5 (
    key_words,
    content_words,
    content = 'memory_documents',
    content_rowid = 'document',
    tokenize = 'ascii'
);

CREATE TRIGGER memory_documents_added AFTER INSERT ON memory_documents
BEGIN
    INSERT INTO memory_search (rowid, key_words, content_words)
    VALUES (new.document, new.key_words, new.content_words);
    INSERT INTO memory_terms (agent, term, documents)
    SELECT new.agent, key, 1 FROM json_each(new.terms) WHERE true
    ON CONFLICT (agent, term) DO UPDATE SET documents = documents + 1;
    UPDATE memory_agents SET documents = documents + 1 WHERE number = new.agent;
END;

CREATE TRIGGER memory_documents_removed AFTER DELETE ON memory_documents
BEGIN
    INSERT INTO memory_search (memory_search, rowid, key_words, content_words)
    VALUES ('delete', old.document, old.key_words, old.content_words);
    UPDATE memory_terms SET documents = documents - 1
    WHERE agent = old.agent AND term IN (SELECT key FROM json_each(old.terms));
    DELETE FROM memory_terms
    WHERE agent = old.agent AND term IN (SELECT key FROM json_each(old.terms)) AND documents <= 0;
    UPDATE memory_agents SET documents = documents - 1 WHERE number = old.agent;
END;

-- Whoever changes a memory, by whatever tool, an index entry that no longer fits it goes at once.
CREATE TRIGGER agent_memories_changed AFTER UPDATE OF agent_id, key, content, archived ON agent_memories
WHEN old.content IS NOT new.content
    OR old.key IS NOT new.key
    OR old.agent_id IS NOT new.agent_id
    OR old.archived IS NOT new.archived
BEGIN
    DELETE FROM memory_documents WHERE memory_id = new.id;
END;

CREATE TRIGGER agent_memories_removed AFTER DELETE ON agent_memories
BEGIN
    DELETE FROM memory_documents WHERE memory_id = old.id;
END;
