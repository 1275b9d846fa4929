"""A generation remembers that its turns and facts are yet to be indexed with their context again."""

from alembic import op

revision = "mem_019"
down_revision = "mem_018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE embedding_versions ADD COLUMN context_pending BOOLEAN NOT NULL DEFAULT false")


def downgrade() -> None:
    op.execute("ALTER TABLE embedding_versions DROP COLUMN context_pending")
