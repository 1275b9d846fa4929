"""Every row belongs to a tenant, and every key begins with it."""

from alembic import op

revision = "mem_004"
down_revision = "mem_003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE episodes ADD COLUMN tenant_id TEXT NOT NULL DEFAULT 'default'")
    op.execute("ALTER TABLE facts ADD COLUMN tenant_id TEXT NOT NULL DEFAULT 'default'")
    op.execute("ALTER TABLE rules ADD COLUMN tenant_id TEXT NOT NULL DEFAULT 'default'")
    op.execute("ALTER TABLE memory_links ADD COLUMN tenant_id TEXT NOT NULL DEFAULT 'default'")
    op.execute("UPDATE memory_events SET tenant_id = 'default' WHERE tenant_id IS NULL")
    op.execute("ALTER TABLE memory_events ALTER COLUMN tenant_id SET DEFAULT 'default'")
    op.execute("ALTER TABLE memory_events ALTER COLUMN tenant_id SET NOT NULL")

    op.execute("ALTER TABLE memory_links DROP CONSTRAINT memory_links_pkey")
    op.execute("""
        ALTER TABLE memory_links ADD CONSTRAINT memory_links_pkey
            PRIMARY KEY (tenant_id, source_type, source_id, target_type, target_id)
    """)
    op.execute("DROP INDEX facts_active_entity_key")
    op.execute("""
        CREATE UNIQUE INDEX facts_active_entity_key
            ON facts (tenant_id, entity_id, scope, predicate)
            WHERE entity_id IS NOT NULL AND validity = 'active'
    """)
    op.execute("DROP INDEX facts_active_subject_key")
    op.execute("""
        CREATE UNIQUE INDEX facts_active_subject_key
            ON facts (tenant_id, scope, subject, predicate)
            WHERE entity_id IS NULL AND validity = 'active'
    """)
    op.execute("CREATE INDEX episodes_tenant_butler_created_idx ON episodes (tenant_id, butler, created_at)")
    op.execute("""
        CREATE INDEX episodes_tenant_pending_idx
            ON episodes (tenant_id, butler, created_at, id)
            WHERE consolidation_status = 'pending'
    """)
    op.execute("""
        CREATE INDEX facts_tenant_scope_validity_idx
            ON facts (tenant_id, scope, validity)
            WHERE validity = 'active'
    """)
    op.execute("CREATE INDEX facts_tenant_subject_predicate_idx ON facts (tenant_id, subject, predicate)")
    op.execute("CREATE INDEX rules_tenant_scope_maturity_idx ON rules (tenant_id, scope, maturity)")
    op.execute("CREATE INDEX memory_links_tenant_target_idx ON memory_links (tenant_id, target_type, target_id)")

    # Deleting an episode, a fact or an entity looks for rows that point to it: without these, each time in all rows.
    op.execute("CREATE INDEX facts_source_episode_idx ON facts (source_episode_id) WHERE source_episode_id IS NOT NULL")
    op.execute("CREATE INDEX rules_source_episode_idx ON rules (source_episode_id) WHERE source_episode_id IS NOT NULL")
    op.execute("CREATE INDEX facts_supersedes_idx ON facts (supersedes_id) WHERE supersedes_id IS NOT NULL")
    op.execute("CREATE INDEX facts_entity_idx ON facts (entity_id) WHERE entity_id IS NOT NULL")


def downgrade() -> None:
    op.execute("DROP INDEX facts_entity_idx")
    op.execute("DROP INDEX facts_supersedes_idx")
    op.execute("DROP INDEX rules_source_episode_idx")
    op.execute("DROP INDEX facts_source_episode_idx")
    op.execute("DROP INDEX memory_links_tenant_target_idx")
    op.execute("DROP INDEX rules_tenant_scope_maturity_idx")
    op.execute("DROP INDEX facts_tenant_subject_predicate_idx")
    op.execute("DROP INDEX facts_tenant_scope_validity_idx")
    op.execute("DROP INDEX episodes_tenant_pending_idx")
    op.execute("DROP INDEX episodes_tenant_butler_created_idx")
    op.execute("DROP INDEX facts_active_subject_key")
    # Without tenants two of them may hold one key: the newest fact stays.
    op.execute("""
        UPDATE facts
        SET validity = 'superseded'
        FROM (
            SELECT id, row_number() OVER (PARTITION BY scope, subject, predicate ORDER BY created_at DESC, id) AS place
            FROM facts
            WHERE entity_id IS NULL
                AND validity = 'active'
        ) AS holder
        WHERE facts.id = holder.id
            AND holder.place > 1
    """)
    op.execute("""
        CREATE UNIQUE INDEX facts_active_subject_key
            ON facts (scope, subject, predicate)
            WHERE entity_id IS NULL AND validity = 'active'
    """)
    op.execute("DROP INDEX facts_active_entity_key")
    op.execute("""
        CREATE UNIQUE INDEX facts_active_entity_key
            ON facts (entity_id, scope, predicate)
            WHERE entity_id IS NOT NULL AND validity = 'active'
    """)
    op.execute("ALTER TABLE memory_links DROP CONSTRAINT memory_links_pkey")
    op.execute("""
        DELETE FROM memory_links AS link
        USING memory_links AS kept
        WHERE kept.source_type = link.source_type
            AND kept.source_id = link.source_id
            AND kept.target_type = link.target_type
            AND kept.target_id = link.target_id
            AND kept.tenant_id < link.tenant_id
    """)
    op.execute("""
        ALTER TABLE memory_links ADD CONSTRAINT memory_links_pkey
            PRIMARY KEY (source_type, source_id, target_type, target_id)
    """)
    op.execute("ALTER TABLE memory_events ALTER COLUMN tenant_id DROP NOT NULL")
    op.execute("ALTER TABLE memory_events ALTER COLUMN tenant_id DROP DEFAULT")
    op.execute("ALTER TABLE memory_links DROP COLUMN tenant_id")
    op.execute("ALTER TABLE rules DROP COLUMN tenant_id")
    op.execute("ALTER TABLE facts DROP COLUMN tenant_id")
    op.execute("ALTER TABLE episodes DROP COLUMN tenant_id")
