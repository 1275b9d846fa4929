"""Entities, and the two keys that an active fact is unique by."""

from alembic import op

revision = "mem_002"
down_revision = "mem_001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Fuzzy resolution degrades to nothing where pg_trgm is missing.
    op.execute("""
        DO $$
        BEGIN
            CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;
        EXCEPTION
            WHEN feature_not_supported OR undefined_file OR insufficient_privilege
                OR duplicate_object OR unique_violation THEN
                RAISE NOTICE 'pg_trgm is not available; fuzzy entity resolution will find nothing';
        END
        $$
    """)
    op.execute("""
        CREATE TABLE entities (
            id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
            tenant_id TEXT NOT NULL DEFAULT 'default',
            canonical_name VARCHAR NOT NULL,
            entity_type VARCHAR NOT NULL DEFAULT 'other',
            aliases TEXT[] NOT NULL DEFAULT '{}',
            metadata JSONB NOT NULL DEFAULT '{}',
            created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
            updated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
            CONSTRAINT entities_name_key UNIQUE (tenant_id, canonical_name, entity_type),
            CONSTRAINT entities_type_check CHECK (entity_type IN ('person', 'organization', 'place', 'other'))
        )
    """)
    op.execute("CREATE INDEX entities_tenant_name_idx ON entities (tenant_id, canonical_name)")
    op.execute("CREATE INDEX entities_aliases_idx ON entities USING gin (aliases)")
    op.execute("CREATE INDEX entities_metadata_idx ON entities USING gin (metadata)")
    op.execute("ALTER TABLE facts ADD COLUMN entity_id UUID REFERENCES entities (id) ON DELETE RESTRICT")
    op.execute("""
        CREATE UNIQUE INDEX facts_active_entity_key
            ON facts (entity_id, scope, predicate)
            WHERE entity_id IS NOT NULL AND validity = 'active'
    """)
    # Until now nothing kept two active facts from one key: the newest one stays.
    op.execute("""
        UPDATE facts
        SET validity = 'superseded'
        FROM (
            SELECT id, row_number() OVER (PARTITION BY scope, subject, predicate ORDER BY created_at DESC, id) AS place
            FROM facts
            WHERE validity = 'active'
        ) AS holder
        WHERE facts.id = holder.id
            AND holder.place > 1
    """)
    op.execute("""
        CREATE UNIQUE INDEX facts_active_subject_key
            ON facts (scope, subject, predicate)
            WHERE entity_id IS NULL AND validity = 'active'
    """)


def downgrade() -> None:
    op.execute("DROP INDEX facts_active_subject_key")
    op.execute("DROP INDEX facts_active_entity_key")
    op.execute("ALTER TABLE facts DROP COLUMN entity_id")
    op.execute("DROP TABLE entities")
