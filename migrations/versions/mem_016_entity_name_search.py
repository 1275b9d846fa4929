"""Entities are found by any part of any of their names, whatever its case and accents, from an index."""

from alembic import op

revision = "mem_016"
down_revision = "mem_015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Not the unaccent extension: its rules change between versions, under which an index would silently go wrong,
    # and servers without it would find other names. Marks are dropped before lower(), so that a server whose
    # locale knows only ASCII still folds accented Latin letters.
    op.execute(r"""
        CREATE FUNCTION fold_entity_name(name TEXT) RETURNS TEXT
        LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
        RETURN normalize(
            replace(replace(replace(replace(
                translate(
                    lower(regexp_replace(normalize(name, NFKD), '[\u0300-\u036f]', '', 'g')),
                    'ıøłđðħŧς',
                    'iolddhtσ'
                ),
                'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'
            ),
            NFKC
        )
    """)
    # The canonical name first, then the aliases, each between line breaks: so one text shows what matches and where.
    op.execute(r"""
        CREATE FUNCTION entity_search_names(canonical_name TEXT, aliases TEXT[]) RETURNS TEXT
        LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
        RETURN E'\n'
            || fold_entity_name(replace(canonical_name, E'\n', ' ') || E'\n' || array_to_string(aliases, E'\n'))
            || E'\n'
    """)
    # Runs of one to three letters, so that names of one letter and of any script are found too, which pg_trgm cannot.
    # The tenant is in the hash: a lookup reads no other tenant's entries. The cost is what it takes: the planner
    # is not to compute the runs of many rows where it could read the index.
    op.execute(r"""
        CREATE FUNCTION entity_name_grams(tenant_id TEXT, names TEXT, shortest INTEGER) RETURNS BIGINT[]
        LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 500
        RETURN (
            SELECT array_agg(DISTINCT hashtextextended(gram.letters, hashtextextended(tenant_id, 0)))
            FROM (
                SELECT
                    letter AS one,
                    letter || lead(letter) OVER following AS two,
                    letter || lead(letter) OVER following || lead(letter, 2) OVER following AS three
                FROM unnest(string_to_array(names, NULL)) WITH ORDINALITY AS spelled (letter, place)
                WINDOW following AS (ORDER BY place)
            ) AS start
            CROSS JOIN LATERAL (VALUES (1, start.one), (2, start.two), (3, start.three)) AS gram (size, letters)
            WHERE gram.size >= shortest
                AND position(E'\n' IN gram.letters) = 0
        )
    """)
    op.execute("""
        ALTER TABLE entities ADD COLUMN search_names TEXT NOT NULL
            GENERATED ALWAYS AS (entity_search_names(canonical_name, aliases)) STORED
    """)
    # Names are looked up far more often than written: no list of pending entries that every lookup would read.
    op.execute("""
        CREATE INDEX entities_name_grams_idx
            ON entities USING gin (entity_name_grams(tenant_id, search_names, 1))
            WITH (fastupdate = off)
    """)
    # Without them the planner takes nearly all entities for merged ones, and reading them all for cheap.
    op.execute("CREATE STATISTICS entities_merged_stats ON (metadata ->> 'merged_into') FROM entities")
    op.execute("""
        DO $$
        BEGIN
            IF EXISTS (SELECT FROM pg_opclass WHERE opcname = 'gin_trgm_ops' AND pg_opclass_is_visible(oid)) THEN
                CREATE INDEX entities_name_trigrams_idx
                    ON entities USING gin (search_names gin_trgm_ops)
                    WITH (fastupdate = off);
            END IF;
        END
        $$
    """)


def downgrade() -> None:
    op.execute("DROP INDEX IF EXISTS entities_name_trigrams_idx")
    op.execute("DROP STATISTICS entities_merged_stats")
    op.execute("DROP INDEX entities_name_grams_idx")
    op.execute("ALTER TABLE entities DROP COLUMN search_names")
    op.execute("DROP FUNCTION entity_name_grams(TEXT, TEXT, INTEGER)")
    op.execute("DROP FUNCTION entity_search_names(TEXT, TEXT[])")
    op.execute("DROP FUNCTION fold_entity_name(TEXT)")
