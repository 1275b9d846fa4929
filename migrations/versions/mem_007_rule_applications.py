"""One row for each time a rule was applied and what came of it."""

from alembic import op

revision = "mem_007"
down_revision = "mem_006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
        CREATE TABLE rule_applications (
            id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
            tenant_id TEXT NOT NULL DEFAULT 'default',
            rule_id UUID NOT NULL REFERENCES rules (id) ON DELETE CASCADE,
            outcome TEXT NOT NULL,
            reason TEXT,
            request_id TEXT,
            context JSONB NOT NULL DEFAULT '{}',
            applied_at TIMESTAMPTZ NOT NULL DEFAULT now(),
            CONSTRAINT rule_applications_outcome_check CHECK (outcome IN ('helpful', 'harmful'))
        )
    """)
    op.execute("CREATE INDEX rule_applications_rule_idx ON rule_applications (rule_id, applied_at DESC)")
    op.execute("CREATE INDEX rule_applications_tenant_idx ON rule_applications (tenant_id, applied_at DESC)")


def downgrade() -> None:
    op.execute("DROP TABLE rule_applications")
