"""The audit stream."""

from alembic import op

revision = "mem_003"
down_revision = "mem_002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
        CREATE TABLE memory_events (
            id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
            event_type TEXT NOT NULL,
            actor TEXT,
            tenant_id TEXT,
            payload JSONB NOT NULL DEFAULT '{}',
            created_at TIMESTAMPTZ NOT NULL DEFAULT now()
        )
    """)
    op.execute("CREATE INDEX memory_events_type_created_idx ON memory_events (event_type, created_at DESC)")
    op.execute("CREATE INDEX memory_events_tenant_created_idx ON memory_events (tenant_id, created_at DESC)")


def downgrade() -> None:
    op.execute("DROP TABLE memory_events")
