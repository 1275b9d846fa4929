"""The places that were visited."""

from alembic import op

revision = "sample_001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE sample_visits (
            tenant_id TEXT NOT NULL,
            place TEXT NOT NULL,
            visited_at TIMESTAMPTZ NOT NULL DEFAULT now()
        )
        """
    )


def downgrade() -> None:
    op.execute("DROP TABLE sample_visits")
