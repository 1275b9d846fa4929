"""Who speaks in an episode: from its metadata, or from a name before its text."""

from alembic import op

revision = "mem_018"
down_revision = "mem_017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # The first name in lower case: questions rarely use more of it. "Ada Lovelace: Good morning" is spoken by ada.
    op.execute(r"""
        CREATE FUNCTION memory_speaker(content TEXT, metadata JSONB) RETURNS TEXT
        LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
            SELECT lower(substring(
                coalesce(metadata ->> 'speaker', substring(content, '^((?:[[:upper:]][^[:space:]:]{0,30} ?){1,3}): ')),
                '^[[:space:]]*([^[:space:]]{1,60})'
            ))
        $$
    """)
    op.execute("""
        CREATE INDEX episodes_speaker_idx
            ON episodes (tenant_id, memory_speaker(content, metadata))
            WHERE memory_speaker(content, metadata) IS NOT NULL
    """)


def downgrade() -> None:
    op.execute("DROP INDEX episodes_speaker_idx")
    op.execute("DROP FUNCTION memory_speaker(TEXT, JSONB)")
