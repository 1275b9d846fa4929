"""The Alembic chain of Butler Memory; also shipped inside memory-core."""
