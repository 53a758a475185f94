-- Waits until this transaction is the only one migrating the schema of that name.
-- name: lock
SELECT pg_advisory_xact_lock(hashtextextended($1, 0));

-- Whether the schema already keeps a list of its migrations.
-- name: is_prepared
SELECT EXISTS (
    SELECT FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'migration'
);

-- Makes the schema and the list of its migrations.
-- name: prepare
CREATE SCHEMA IF NOT EXISTS {schema};
CREATE TABLE {schema}.migration (
    number integer PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- Every migration that ran, in order.
-- name: applied
SELECT number, checksum FROM {schema}.migration ORDER BY number;

-- Lets the statements of a migration name the tables of their schema without it.
-- name: search_within
SET LOCAL search_path TO {schema};

-- Notes that a migration ran.
-- name: note
INSERT INTO {schema}.migration (number, name, checksum) VALUES ($1, $2, $3);
