"""Which actions of a consolidation were applied, so that none is applied twice."""

from alembic import op

revision = "mem_013"
down_revision = "mem_012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
        CREATE TABLE consolidation_actions (
            tenant_id TEXT NOT NULL DEFAULT 'default',
            idempotency_key TEXT NOT NULL,
            action TEXT NOT NULL,
            memory_type TEXT NOT NULL,
            memory_id UUID NOT NULL,
            created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
            CONSTRAINT consolidation_actions_pkey PRIMARY KEY (tenant_id, idempotency_key),
            CONSTRAINT consolidation_actions_action_check
                CHECK (action IN ('new_fact', 'updated_fact', 'new_rule', 'confirmation')),
            CONSTRAINT consolidation_actions_memory_type_check CHECK (memory_type IN ('fact', 'rule'))
        )
    """)


def downgrade() -> None:
    op.execute("DROP TABLE consolidation_actions")
