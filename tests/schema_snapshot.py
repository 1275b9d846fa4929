"""Writes down a schema as text, so that two can be compared and a change to it shows in review.

`uv run python -m tests.schema_snapshot` rewrites tests/schema_snapshot.txt from the migrations.
"""

import asyncio
import tempfile
from pathlib import Path

SNAPSHOT = Path(__file__).parent / "schema_snapshot.txt"

CATALOG = {
    "columns": """
        SELECT table_name || '.' || column_name || ' ' || format_type(attribute.atttypid, attribute.atttypmod)
            || CASE WHEN is_nullable = 'NO' THEN ' not null' ELSE '' END
            || coalesce(' default ' || column_default, '')
            || coalesce(' generated as ' || generation_expression, '')
            || CASE attstorage WHEN typstorage THEN '' ELSE ' storage ' || attstorage::text END
        FROM information_schema.columns
        JOIN pg_attribute AS attribute
            ON attribute.attrelid = format('%I.%I', table_schema, table_name)::regclass
            AND attribute.attname = column_name
        JOIN pg_type ON pg_type.oid = attribute.atttypid
        WHERE table_schema = current_schema()
    """,
    "indexes": """
        SELECT replace(indexdef, quote_ident(current_schema()) || '.', '')
        FROM pg_indexes
        WHERE schemaname = current_schema()
    """,
    "constraints": """
        SELECT replace(conrelid::regclass::text, quote_ident(current_schema()) || '.', '') || ' ' || conname || ' '
            || replace(pg_get_constraintdef(oid), quote_ident(current_schema()) || '.', '')
        FROM pg_constraint
        WHERE connamespace = current_schema()::regnamespace
    """,
    "triggers": """
        SELECT replace(pg_get_triggerdef(pg_trigger.oid), quote_ident(current_schema()) || '.', '')
        FROM pg_trigger
        JOIN pg_class ON pg_class.oid = tgrelid
        WHERE NOT tgisinternal AND relnamespace = current_schema()::regnamespace
    """,
    "functions": """
        SELECT replace(pg_get_functiondef(oid), quote_ident(current_schema()) || '.', '')
        FROM pg_proc
        WHERE pronamespace = current_schema()::regnamespace
            AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')
    """,
    "options": """
        SELECT relname || ' ' || array_to_string(reloptions, ',')
        FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND reloptions IS NOT NULL
    """,
}


async def describe_schema(connection):
    """Return the current schema as sorted lines, part by part; the same for any name of the schema."""
    parts = []
    for title, query in CATALOG.items():
        rows = sorted(row[0] for row in await connection.fetch(query))
        parts.append("\n".join([f"# {title}", *(row.strip() for row in rows)]))
    return "\n\n".join(parts) + "\n"


async def _rewrite(dsn):
    import asyncpg
    from memory_core import migrate

    connection = await asyncpg.connect(dsn)
    await migrate(connection)
    SNAPSHOT.write_text(await describe_schema(connection), encoding="utf-8")
    await connection.close()


def main():
    from memory_core.embedded import EmbeddedServer

    with EmbeddedServer(Path(tempfile.mkdtemp(prefix="memory-snapshot-"))) as server:
        asyncio.run(_rewrite(server.dsn))


if __name__ == "__main__":
    main()
