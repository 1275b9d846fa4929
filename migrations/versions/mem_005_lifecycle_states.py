"""Lifecycle states are canonical: older spellings are rewritten, unknown ones refused."""

from alembic import op

revision = "mem_005"
down_revision = "mem_004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("UPDATE facts SET validity = 'retracted' WHERE validity = 'forgotten'")
    # A fading row counts as active from now on: where its key has an active or a newer one, it gives way.
    op.execute("""
        UPDATE facts
        SET validity = 'superseded'
        FROM (
            SELECT
                id,
                row_number() OVER (
                    PARTITION BY tenant_id, scope, entity_id, CASE WHEN entity_id IS NULL THEN subject END, predicate
                    ORDER BY validity, created_at DESC, id
                ) AS place
            FROM facts
            WHERE validity IN ('active', 'fading')
        ) AS holder
        WHERE facts.id = holder.id
            AND holder.place > 1
    """)
    op.execute("""
        UPDATE facts
        SET validity = 'active', metadata = metadata || '{"status": "fading"}'
        WHERE validity = 'fading'
    """)
    op.execute("""
        CREATE FUNCTION canonical_fact_validity() RETURNS trigger
        LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.validity = 'forgotten' THEN
                NEW.validity := 'retracted';
            ELSE
                NEW.validity := 'active';
                NEW.metadata := NEW.metadata || '{"status": "fading"}';
            END IF;
            RETURN NEW;
        END
        $$
    """)
    op.execute("""
        CREATE TRIGGER facts_canonical_validity
            BEFORE INSERT OR UPDATE OF validity ON facts
            FOR EACH ROW
            WHEN (NEW.validity IN ('forgotten', 'fading'))
            EXECUTE FUNCTION canonical_fact_validity()
    """)
    op.execute("""
        ALTER TABLE facts ADD CONSTRAINT facts_validity_check
            CHECK (validity IN ('active', 'fading', 'superseded', 'expired', 'retracted'))
    """)
    op.execute("""
        ALTER TABLE facts ADD CONSTRAINT facts_permanence_check
            CHECK (permanence IN ('permanent', 'stable', 'standard', 'volatile', 'ephemeral'))
    """)
    op.execute("ALTER TABLE facts ADD CONSTRAINT facts_confidence_check CHECK (confidence BETWEEN 0 AND 1)")
    op.execute("ALTER TABLE facts ADD CONSTRAINT facts_decay_rate_check CHECK (decay_rate >= 0)")
    op.execute("ALTER TABLE facts ADD CONSTRAINT facts_importance_check CHECK (importance BETWEEN 0 AND 10)")
    op.execute("""
        ALTER TABLE rules ADD CONSTRAINT rules_maturity_check
            CHECK (maturity IN ('candidate', 'established', 'proven', 'anti_pattern'))
    """)
    op.execute("""
        ALTER TABLE rules ADD CONSTRAINT rules_permanence_check
            CHECK (permanence IN ('permanent', 'stable', 'standard', 'volatile', 'ephemeral'))
    """)
    op.execute("ALTER TABLE rules ADD CONSTRAINT rules_confidence_check CHECK (confidence BETWEEN 0 AND 1)")
    op.execute("ALTER TABLE rules ADD CONSTRAINT rules_decay_rate_check CHECK (decay_rate >= 0)")
    op.execute("ALTER TABLE episodes ADD CONSTRAINT episodes_importance_check CHECK (importance BETWEEN 0 AND 10)")


def downgrade() -> None:
    op.execute("ALTER TABLE episodes DROP CONSTRAINT episodes_importance_check")
    op.execute("ALTER TABLE rules DROP CONSTRAINT rules_decay_rate_check")
    op.execute("ALTER TABLE rules DROP CONSTRAINT rules_confidence_check")
    op.execute("ALTER TABLE rules DROP CONSTRAINT rules_permanence_check")
    op.execute("ALTER TABLE rules DROP CONSTRAINT rules_maturity_check")
    op.execute("ALTER TABLE facts DROP CONSTRAINT facts_importance_check")
    op.execute("ALTER TABLE facts DROP CONSTRAINT facts_decay_rate_check")
    op.execute("ALTER TABLE facts DROP CONSTRAINT facts_confidence_check")
    op.execute("ALTER TABLE facts DROP CONSTRAINT facts_permanence_check")
    op.execute("ALTER TABLE facts DROP CONSTRAINT facts_validity_check")
    op.execute("DROP TRIGGER facts_canonical_validity ON facts")
    op.execute("DROP FUNCTION canonical_fact_validity()")
