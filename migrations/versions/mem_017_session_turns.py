"""Episodes of a session are indexed with their neighbours: what each turn says on its own is kept beside them."""

from alembic import op

revision = "mem_017"
down_revision = "mem_016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Beside the episodes, not in them: a second vector in the row would double what an exact scan has to read.
    # The position tells turns of one moment apart. A turn too long to give or take context has no vector here.
    op.execute("""
        CREATE TABLE session_turns (
            episode_id UUID PRIMARY KEY REFERENCES episodes (id) ON DELETE CASCADE,
            tenant_id TEXT NOT NULL DEFAULT 'default',
            session_id UUID NOT NULL,
            created_at TIMESTAMPTZ NOT NULL,
            position BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY,
            embedding vector,
            search_vector TSVECTOR
        )
    """)
    op.execute("""
        CREATE INDEX session_turns_order_idx
            ON session_turns (tenant_id, session_id, created_at, position)
    """)
    # Sessions stored before have their turns noted, so that they go on from where they are.
    op.execute("""
        INSERT INTO session_turns (episode_id, tenant_id, session_id, created_at, embedding, search_vector)
        SELECT
            id,
            tenant_id,
            session_id,
            created_at,
            CASE WHEN length(content) <= 800 THEN embedding END,
            CASE WHEN length(content) <= 800 THEN search_vector END
        FROM episodes
        WHERE session_id IS NOT NULL
        ORDER BY created_at, id
    """)


def downgrade() -> None:
    op.execute("DROP TABLE session_turns")
