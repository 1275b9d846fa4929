"""The three memory types and the links between them."""

from alembic import op

revision = "mem_001"
down_revision = None
branch_labels = ("memory",)
depends_on = None


def upgrade() -> None:
    op.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
    # Nothing needs uuid-ossp (ids come from gen_random_uuid), so a server that lacks it is good enough.
    op.execute("""
        DO $$
        BEGIN
            CREATE EXTENSION IF NOT EXISTS "uuid-ossp" WITH SCHEMA public;
        EXCEPTION
            WHEN feature_not_supported OR undefined_file OR insufficient_privilege
                OR duplicate_object OR unique_violation THEN
                RAISE NOTICE 'uuid-ossp is not available; it is not needed';
        END
        $$
    """)
    op.execute("""
        CREATE TABLE episodes (
            id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
            butler TEXT NOT NULL,
            session_id UUID,
            content TEXT NOT NULL,
            embedding vector(384),
            search_vector TSVECTOR,
            importance FLOAT NOT NULL DEFAULT 5.0,
            reference_count INTEGER NOT NULL DEFAULT 0,
            consolidated BOOLEAN NOT NULL DEFAULT false,
            consolidation_status VARCHAR(20) NOT NULL DEFAULT 'pending',
            retry_count INTEGER NOT NULL DEFAULT 0,
            last_error TEXT,
            created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
            last_referenced_at TIMESTAMPTZ,
            expires_at TIMESTAMPTZ DEFAULT now() + INTERVAL '7 days',
            metadata JSONB NOT NULL DEFAULT '{}'
        )
    """)
    op.execute("CREATE INDEX episodes_butler_created_idx ON episodes (butler, created_at DESC)")
    op.execute("CREATE INDEX episodes_expires_idx ON episodes (expires_at) WHERE expires_at IS NOT NULL")
    op.execute("""
        CREATE INDEX episodes_pending_idx
            ON episodes (butler, created_at)
            WHERE consolidation_status = 'pending'
    """)
    op.execute("CREATE INDEX episodes_search_idx ON episodes USING gin (search_vector)")
    op.execute("""
        CREATE INDEX episodes_embedding_idx
            ON episodes USING ivfflat (embedding vector_cosine_ops) WITH (lists = 20)
    """)
    op.execute("""
        CREATE TABLE facts (
            id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
            subject TEXT NOT NULL,
            predicate TEXT NOT NULL,
            content TEXT NOT NULL,
            embedding vector(384),
            search_vector TSVECTOR,
            importance FLOAT NOT NULL DEFAULT 5.0,
            confidence FLOAT NOT NULL DEFAULT 1.0,
            decay_rate FLOAT NOT NULL DEFAULT 0.008,
            permanence TEXT NOT NULL DEFAULT 'standard',
            source_butler TEXT,
            source_episode_id UUID REFERENCES episodes (id) ON DELETE SET NULL,
            supersedes_id UUID REFERENCES facts (id) ON DELETE SET NULL,
            validity TEXT NOT NULL DEFAULT 'active',
            scope TEXT NOT NULL DEFAULT 'global',
            reference_count INTEGER NOT NULL DEFAULT 0,
            created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
            last_referenced_at TIMESTAMPTZ,
            last_confirmed_at TIMESTAMPTZ,
            tags JSONB NOT NULL DEFAULT '[]',
            metadata JSONB NOT NULL DEFAULT '{}'
        )
    """)
    op.execute("CREATE INDEX facts_scope_validity_idx ON facts (scope, validity) WHERE validity = 'active'")
    op.execute("CREATE INDEX facts_subject_predicate_idx ON facts (subject, predicate)")
    op.execute("CREATE INDEX facts_search_idx ON facts USING gin (search_vector)")
    op.execute("CREATE INDEX facts_tags_idx ON facts USING gin (tags)")
    op.execute("""
        CREATE INDEX facts_embedding_idx
            ON facts USING ivfflat (embedding vector_cosine_ops) WITH (lists = 20)
    """)
    op.execute("""
        CREATE TABLE rules (
            id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
            content TEXT NOT NULL,
            embedding vector(384),
            search_vector TSVECTOR,
            scope TEXT NOT NULL DEFAULT 'global',
            maturity TEXT NOT NULL DEFAULT 'candidate',
            confidence FLOAT NOT NULL DEFAULT 0.5,
            decay_rate FLOAT NOT NULL DEFAULT 0.008,
            permanence TEXT NOT NULL DEFAULT 'standard',
            effectiveness_score FLOAT NOT NULL DEFAULT 0.0,
            applied_count INTEGER NOT NULL DEFAULT 0,
            success_count INTEGER NOT NULL DEFAULT 0,
            harmful_count INTEGER NOT NULL DEFAULT 0,
            source_episode_id UUID REFERENCES episodes (id) ON DELETE SET NULL,
            source_butler TEXT,
            created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
            last_applied_at TIMESTAMPTZ,
            last_evaluated_at TIMESTAMPTZ,
            last_confirmed_at TIMESTAMPTZ,
            reference_count INTEGER NOT NULL DEFAULT 0,
            last_referenced_at TIMESTAMPTZ,
            tags JSONB NOT NULL DEFAULT '[]',
            metadata JSONB NOT NULL DEFAULT '{}'
        )
    """)
    op.execute("CREATE INDEX rules_scope_maturity_idx ON rules (scope, maturity)")
    op.execute("CREATE INDEX rules_search_idx ON rules USING gin (search_vector)")
    op.execute("""
        CREATE INDEX rules_embedding_idx
            ON rules USING ivfflat (embedding vector_cosine_ops) WITH (lists = 20)
    """)
    op.execute("""
        CREATE TABLE memory_links (
            source_type TEXT NOT NULL,
            source_id UUID NOT NULL,
            target_type TEXT NOT NULL,
            target_id UUID NOT NULL,
            relation TEXT NOT NULL,
            created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
            CONSTRAINT memory_links_pkey PRIMARY KEY (source_type, source_id, target_type, target_id),
            CONSTRAINT memory_links_relation_check
                CHECK (relation IN ('derived_from', 'supports', 'contradicts', 'supersedes', 'related_to')),
            CONSTRAINT memory_links_source_type_check CHECK (source_type IN ('episode', 'fact', 'rule')),
            CONSTRAINT memory_links_target_type_check CHECK (target_type IN ('episode', 'fact', 'rule'))
        )
    """)
    op.execute("CREATE INDEX memory_links_target_idx ON memory_links (target_type, target_id)")


def downgrade() -> None:
    # The extensions stay: other schemas of the database may use them.
    op.execute("DROP TABLE memory_links")
    op.execute("DROP TABLE rules")
    op.execute("DROP TABLE facts")
    op.execute("DROP TABLE episodes")
