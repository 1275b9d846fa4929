"""What is left of a confidence, as the server computes it for whole tables."""

from alembic import op

revision = "mem_015"
down_revision = "mem_014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # PostgreSQL raises an error where a product underflows: without the clamps one row with an extreme value
    # would stop the sweep of all others. One SQL expression, so that the planner can inline it.
    op.execute("""
        CREATE FUNCTION memory_effective_confidence(
            confidence FLOAT8, decay_rate FLOAT8, confirmed_at TIMESTAMPTZ, moment TIMESTAMPTZ
        ) RETURNS FLOAT8
        LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
            SELECT CASE
                WHEN decay_rate = 0 THEN confidence
                WHEN confirmed_at IS NULL THEN 0
                ELSE GREATEST(confidence, 1e-150) * exp(GREATEST(
                    -340.0,
                    -LEAST(decay_rate, 1e6) * GREATEST(0, EXTRACT(EPOCH FROM moment - confirmed_at)::float8 / 86400)
                ))
            END
        $$
    """)


def downgrade() -> None:
    op.execute("DROP FUNCTION memory_effective_confidence(FLOAT8, FLOAT8, TIMESTAMPTZ, TIMESTAMPTZ)")
