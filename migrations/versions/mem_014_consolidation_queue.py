"""The episodes that wait for consolidation, in the order in which they are taken."""

from alembic import op

revision = "mem_014"
down_revision = "mem_013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Failed episodes wait beside pending ones, and a claim reads the oldest of a butler first.
    op.execute("""
        CREATE INDEX episodes_consolidation_queue_idx
            ON episodes (tenant_id, butler, created_at, id)
            WHERE consolidation_status IN ('pending', 'failed')
    """)


def downgrade() -> None:
    op.execute("DROP INDEX episodes_consolidation_queue_idx")
