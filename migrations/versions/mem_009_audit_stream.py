"""Events say which memory they are about, in which request, and can be neither changed nor removed."""

from alembic import op

revision = "mem_009"
down_revision = "mem_008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE memory_events ADD COLUMN entity_type TEXT")
    op.execute("ALTER TABLE memory_events ADD COLUMN entity_id UUID")
    op.execute("ALTER TABLE memory_events ADD COLUMN request_id TEXT")
    op.execute("ALTER TABLE memory_events ADD COLUMN occurred_at TIMESTAMPTZ")
    op.execute("UPDATE memory_events SET occurred_at = created_at")
    op.execute("ALTER TABLE memory_events ALTER COLUMN occurred_at SET DEFAULT now()")
    op.execute("ALTER TABLE memory_events ALTER COLUMN occurred_at SET NOT NULL")
    op.execute("CREATE INDEX memory_events_tenant_occurred_idx ON memory_events (tenant_id, occurred_at)")
    op.execute("""
        CREATE INDEX memory_events_entity_idx
            ON memory_events (tenant_id, entity_type, entity_id, occurred_at)
            WHERE entity_id IS NOT NULL
    """)
    op.execute("""
        CREATE FUNCTION refuse_event_change() RETURNS trigger
        LANGUAGE plpgsql AS $$
        BEGIN
            -- No format placeholder here: Alembic's SQL output would double its percent sign.
            RAISE EXCEPTION USING
                MESSAGE = 'memory_events is append-only: ' || TG_OP || ' is refused',
                ERRCODE = 'restrict_violation';
        END
        $$
    """)
    op.execute("""
        CREATE TRIGGER memory_events_append_only
            BEFORE UPDATE OR DELETE ON memory_events
            FOR EACH ROW
            EXECUTE FUNCTION refuse_event_change()
    """)
    op.execute("""
        CREATE TRIGGER memory_events_no_truncate
            BEFORE TRUNCATE ON memory_events
            FOR EACH STATEMENT
            EXECUTE FUNCTION refuse_event_change()
    """)


def downgrade() -> None:
    op.execute("DROP TRIGGER memory_events_no_truncate ON memory_events")
    op.execute("DROP TRIGGER memory_events_append_only ON memory_events")
    op.execute("DROP FUNCTION refuse_event_change()")
    op.execute("DROP INDEX memory_events_entity_idx")
    op.execute("DROP INDEX memory_events_tenant_occurred_idx")
    op.execute("ALTER TABLE memory_events DROP COLUMN occurred_at")
    op.execute("ALTER TABLE memory_events DROP COLUMN request_id")
    op.execute("ALTER TABLE memory_events DROP COLUMN entity_id")
    op.execute("ALTER TABLE memory_events DROP COLUMN entity_type")
