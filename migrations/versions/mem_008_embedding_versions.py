"""Which model made the stored vectors, so that two generations are never compared."""

from alembic import op

revision = "mem_008"
down_revision = "mem_007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # A generation spans the database, as the vector columns do; the tenant column is here because every table has one.
    op.execute("""
        CREATE TABLE embedding_versions (
            id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
            tenant_id TEXT NOT NULL DEFAULT 'default',
            model TEXT NOT NULL,
            version TEXT NOT NULL,
            dimensions INTEGER NOT NULL,
            status TEXT NOT NULL DEFAULT 'active',
            created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
            activated_at TIMESTAMPTZ,
            retired_at TIMESTAMPTZ,
            CONSTRAINT embedding_versions_model_key UNIQUE (tenant_id, model, version, dimensions),
            CONSTRAINT embedding_versions_dimensions_check CHECK (dimensions > 0),
            CONSTRAINT embedding_versions_status_check CHECK (status IN ('active', 'migrating', 'retired'))
        )
    """)
    op.execute("""
        CREATE UNIQUE INDEX embedding_versions_active_key
            ON embedding_versions (tenant_id)
            WHERE status = 'active'
    """)


def downgrade() -> None:
    op.execute("DROP TABLE embedding_versions")
