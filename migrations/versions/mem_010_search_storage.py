"""Vectors and texts stay in the row, and any text can be given a search vector."""

from alembic import op

revision = "mem_010"
down_revision = "mem_009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # A vector of 384 numbers and a sentence pass the usual 2 kB: moved out of line, an exact scan costs twice as much.
    op.execute("ALTER TABLE episodes ALTER COLUMN embedding SET STORAGE MAIN")
    op.execute("ALTER TABLE facts ALTER COLUMN embedding SET STORAGE MAIN")
    op.execute("ALTER TABLE rules ALTER COLUMN embedding SET STORAGE MAIN")
    op.execute("ALTER TABLE episodes SET (toast_tuple_target = 8160)")
    op.execute("ALTER TABLE facts SET (toast_tuple_target = 8160)")
    op.execute("ALTER TABLE rules SET (toast_tuple_target = 8160)")
    # A long text of rare words makes a vector past PostgreSQL's limit of 1 MB: index as much of it as fits.
    op.execute("""
        CREATE FUNCTION memory_search_vector(document TEXT) RETURNS tsvector
        LANGUAGE plpgsql STABLE STRICT AS $$
        BEGIN
            RETURN to_tsvector('english', document);
        EXCEPTION
            WHEN program_limit_exceeded THEN
                RETURN memory_search_vector(left(document, length(document) / 2));
        END
        $$
    """)


def downgrade() -> None:
    op.execute("DROP FUNCTION memory_search_vector(TEXT)")
    op.execute("ALTER TABLE rules RESET (toast_tuple_target)")
    op.execute("ALTER TABLE facts RESET (toast_tuple_target)")
    op.execute("ALTER TABLE episodes RESET (toast_tuple_target)")
    op.execute("ALTER TABLE rules ALTER COLUMN embedding SET STORAGE EXTERNAL")
    op.execute("ALTER TABLE facts ALTER COLUMN embedding SET STORAGE EXTERNAL")
    op.execute("ALTER TABLE episodes ALTER COLUMN embedding SET STORAGE EXTERNAL")
