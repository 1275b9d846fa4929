"""Pages keep room for a second version of a row, so that counting a reference touches no index."""

from alembic import op

revision = "mem_021"
down_revision = "mem_020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # A row with its vector takes a quarter of a page. Without room beside it, each recalled row moves to another page
    # and is put into every index anew, which for a vector index costs more than the search itself.
    op.execute("ALTER TABLE episodes SET (fillfactor = 70)")
    op.execute("ALTER TABLE facts SET (fillfactor = 70)")
    op.execute("ALTER TABLE rules SET (fillfactor = 70)")


def downgrade() -> None:
    op.execute("ALTER TABLE rules RESET (fillfactor)")
    op.execute("ALTER TABLE facts RESET (fillfactor)")
    op.execute("ALTER TABLE episodes RESET (fillfactor)")
