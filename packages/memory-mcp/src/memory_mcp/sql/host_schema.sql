-- host_version_table_exists --
-- Whether Alembic's usual version table, which a host has for all of its chains, can be seen from here.
SELECT to_regclass('alembic_version') IS NOT NULL;

-- host_revisions --
-- Which of a chain's revisions the host's own version table names.
SELECT version_num
FROM alembic_version
WHERE version_num = ANY($1::text[]);

-- database_identity --
-- What tells a database apart from every other one that this machine may talk to.
SELECT concat_ws(
    ' ',
    current_database(),
    (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()),
    coalesce(host(inet_server_addr()), 'local'),
    coalesce(inet_server_port(), 0),
    current_schema()
);

-- current_schema --
-- The schema that a statement without one works in.
SELECT current_schema();
