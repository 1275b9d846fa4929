"""Effective confidence without decimal arithmetic: a search computes it for thousands of rows."""

from alembic import op

revision = "mem_020"
down_revision = "mem_019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # EXTRACT gives a numeric, date_part a float8: the same value at a tenth of the cost.
    op.execute("""
        CREATE OR REPLACE FUNCTION memory_effective_confidence(
            confidence FLOAT8, decay_rate FLOAT8, confirmed_at TIMESTAMPTZ, moment TIMESTAMPTZ
        ) RETURNS FLOAT8
        LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
            SELECT CASE
                WHEN decay_rate = 0 THEN confidence
                WHEN confirmed_at IS NULL THEN 0
                ELSE GREATEST(confidence, 1e-150) * exp(GREATEST(
                    -340.0,
                    -LEAST(decay_rate, 1e6) * GREATEST(0, date_part('epoch', moment - confirmed_at) / 86400)
                ))
            END
        $$
    """)


def downgrade() -> None:
    op.execute("""
        CREATE OR REPLACE FUNCTION memory_effective_confidence(
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
