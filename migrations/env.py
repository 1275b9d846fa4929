"""Alembic's environment, for hosts and for `alembic upgrade head --sql`.

Butler Memory itself applies the chain through memory_core.migrating, over asyncpg; a host that runs Alembic passes its
SQLAlchemy connection in `config.attributes["connection"]`.
"""

from alembic import context

connection = context.config.attributes.get("connection")
version_table = context.config.attributes.get("version_table", "memory_alembic_version")

if context.is_offline_mode():
    context.configure(dialect_name="postgresql", version_table=version_table)
elif connection is None:
    raise RuntimeError(
        "no database connection was passed to Alembic: run `memory migrate`, or set config.attributes['connection']"
    )
else:
    context.configure(connection=connection, version_table=version_table)

with context.begin_transaction():
    context.run_migrations()
