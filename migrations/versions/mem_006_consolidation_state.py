"""Consolidation state under its target names; the older columns become projections of it."""

from alembic import op

revision = "mem_006"
down_revision = "mem_005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
        UPDATE episodes
        SET consolidation_status = 'consolidated'
        WHERE consolidated AND consolidation_status <> 'consolidated'
    """)
    op.execute("ALTER TABLE episodes DROP COLUMN consolidated")
    op.execute("ALTER TABLE episodes RENAME COLUMN retry_count TO consolidation_attempts")
    op.execute("ALTER TABLE episodes RENAME COLUMN last_error TO last_consolidation_error")
    op.execute("ALTER TABLE episodes ADD COLUMN next_consolidation_retry_at TIMESTAMPTZ")
    op.execute("ALTER TABLE episodes ADD COLUMN lease_owner TEXT")
    op.execute("ALTER TABLE episodes ADD COLUMN leased_until TIMESTAMPTZ")
    op.execute("""
        ALTER TABLE episodes ADD COLUMN consolidated BOOLEAN NOT NULL
            GENERATED ALWAYS AS (consolidation_status = 'consolidated') STORED
    """)
    op.execute("""
        ALTER TABLE episodes ADD COLUMN retry_count INTEGER NOT NULL
            GENERATED ALWAYS AS (consolidation_attempts) STORED
    """)
    op.execute("""
        ALTER TABLE episodes ADD COLUMN last_error TEXT
            GENERATED ALWAYS AS (last_consolidation_error) STORED
    """)
    op.execute("""
        ALTER TABLE episodes ADD CONSTRAINT episodes_consolidation_status_check
            CHECK (consolidation_status IN ('pending', 'consolidated', 'failed', 'dead_letter'))
    """)


def downgrade() -> None:
    op.execute("ALTER TABLE episodes DROP CONSTRAINT episodes_consolidation_status_check")
    op.execute("ALTER TABLE episodes DROP COLUMN last_error")
    op.execute("ALTER TABLE episodes DROP COLUMN retry_count")
    op.execute("ALTER TABLE episodes DROP COLUMN consolidated")
    op.execute("ALTER TABLE episodes DROP COLUMN leased_until")
    op.execute("ALTER TABLE episodes DROP COLUMN lease_owner")
    op.execute("ALTER TABLE episodes DROP COLUMN next_consolidation_retry_at")
    op.execute("ALTER TABLE episodes RENAME COLUMN last_consolidation_error TO last_error")
    op.execute("ALTER TABLE episodes RENAME COLUMN consolidation_attempts TO retry_count")
    op.execute("ALTER TABLE episodes ADD COLUMN consolidated BOOLEAN NOT NULL DEFAULT false")
    op.execute("UPDATE episodes SET consolidated = true WHERE consolidation_status = 'consolidated'")
