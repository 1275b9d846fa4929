"""The cleanup finds a tenant's oldest consolidated episodes without reading all of them."""

from alembic import op

revision = "mem_012"
down_revision = "mem_011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
        CREATE INDEX episodes_tenant_consolidated_idx
            ON episodes (tenant_id, created_at, id)
            WHERE consolidation_status = 'consolidated'
    """)


def downgrade() -> None:
    op.execute("DROP INDEX episodes_tenant_consolidated_idx")
