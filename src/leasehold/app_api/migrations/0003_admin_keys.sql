-- Keys of operators besides those of the settings: a name, the scrypt hash, and when it ends or has ended.
CREATE TABLE app_api.admin_keys (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    hash text NOT NULL,
    created_at timestamptz NOT NULL,
    ends_at timestamptz
);
CREATE INDEX admin_keys_by_name ON app_api.admin_keys (name, created_at);
