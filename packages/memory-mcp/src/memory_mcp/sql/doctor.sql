-- extensions --
-- What the server carries of the extensions that memory uses, and what of it this database has.
SELECT name, default_version, installed_version
FROM pg_catalog.pg_available_extensions
WHERE name IN ('vector', 'pg_trgm');
