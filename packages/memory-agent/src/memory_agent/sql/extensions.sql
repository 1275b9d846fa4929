-- What a MemoryManager adds to each memory. Safe to run on every start.
CREATE TABLE IF NOT EXISTS memory_categories (
    memory_id TEXT PRIMARY KEY REFERENCES agent_memories (id) ON DELETE CASCADE,
    category TEXT NOT NULL DEFAULT 'general',
    confidence REAL NOT NULL DEFAULT 1.0,
    updated_at TEXT DEFAULT (datetime('now'))
);

CREATE INDEX IF NOT EXISTS memory_categories_by_category
    ON memory_categories (category);

CREATE TABLE IF NOT EXISTS memory_embeddings (
    memory_id TEXT PRIMARY KEY REFERENCES agent_memories (id) ON DELETE CASCADE,
    vector TEXT NOT NULL,
    vocabulary TEXT NOT NULL DEFAULT '',
    updated_at TEXT DEFAULT (datetime('now'))
);

CREATE TABLE IF NOT EXISTS memory_cross_refs (
    source_id TEXT NOT NULL REFERENCES agent_memories (id) ON DELETE CASCADE,
    target_id TEXT NOT NULL REFERENCES agent_memories (id) ON DELETE CASCADE,
    score REAL NOT NULL DEFAULT 0.0,
    created_at TEXT DEFAULT (datetime('now')),
    PRIMARY KEY (source_id, target_id)
) WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS memory_cross_refs_by_target
    ON memory_cross_refs (target_id);
