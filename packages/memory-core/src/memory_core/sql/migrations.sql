-- version_table_exists --
-- Whether a chain has ever been applied in the current schema.
SELECT EXISTS (
    SELECT
    FROM pg_catalog.pg_class
    WHERE relname = $1
        AND relnamespace = current_schema()::regnamespace
);

-- schema_exists --
-- Whether a schema has been made.
SELECT EXISTS (
    SELECT
    FROM pg_catalog.pg_namespace
    WHERE nspname = $1
);

-- schema_in_use --
-- The schema in which tables without a schema's name are looked for first.
SELECT current_schema();

-- lock_migrations --
-- Let one process migrate a schema at a time.
SELECT pg_advisory_xact_lock(hashtextextended($1, 0));

-- available_pgvector --
-- The version of pgvector that the server would install.
SELECT default_version
FROM pg_catalog.pg_available_extensions
WHERE name = 'vector';
