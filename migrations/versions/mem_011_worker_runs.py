"""Every run of a worker: when, for which moment of its cron line, with what result; a running one holds a lease."""

from alembic import op

revision = "mem_011"
down_revision = "mem_010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # A run spans the database, as the workers do; the tenant column is here because every table has one.
    op.execute("""
        CREATE TABLE worker_runs (
            id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
            tenant_id TEXT NOT NULL DEFAULT 'default',
            worker TEXT NOT NULL,
            status TEXT NOT NULL DEFAULT 'running',
            scheduled_for TIMESTAMPTZ,
            started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
            finished_at TIMESTAMPTZ,
            leased_until TIMESTAMPTZ NOT NULL,
            counts JSONB NOT NULL DEFAULT '{}',
            error TEXT,
            CONSTRAINT worker_runs_status_check
                CHECK (status IN ('running', 'succeeded', 'failed', 'stopped', 'abandoned'))
        )
    """)
    op.execute("CREATE UNIQUE INDEX worker_runs_running_key ON worker_runs (worker) WHERE status = 'running'")
    # A run that was stopped or abandoned leaves its moment open, so that another process can make up for it.
    op.execute("""
        CREATE UNIQUE INDEX worker_runs_scheduled_key
            ON worker_runs (worker, scheduled_for)
            WHERE status IN ('running', 'succeeded', 'failed')
    """)
    op.execute("CREATE INDEX worker_runs_started_idx ON worker_runs (worker, started_at DESC)")


def downgrade() -> None:
    op.execute("DROP TABLE worker_runs")
