-- Which packet of its channel a followed transfer is; none where nobody could tell.
ALTER TABLE app_api.transfers ADD COLUMN sequence numeric(20);
CREATE INDEX transfers_unfinished ON app_api.transfers (created_at) WHERE finished_at IS NULL;

-- Who changed what over the admin routes; `actor` is the name of a key, never the key.
CREATE TABLE app_api.audit (
    id text PRIMARY KEY,
    at timestamptz NOT NULL,
    area text NOT NULL,
    action text NOT NULL,
    actor text NOT NULL,
    lang text,
    key text,
    entry json NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY
);
CREATE INDEX audit_newest ON app_api.audit (area, at DESC, number DESC);
CREATE INDEX audit_of_key ON app_api.audit (lang, key, at DESC) WHERE key IS NOT NULL;

-- Translations that somebody has still to look at, or has turned down.
CREATE TABLE app_api.pending_translations (
    id text PRIMARY KEY,
    created_at timestamptz NOT NULL,
    target_lang text NOT NULL,
    source_key text NOT NULL,
    status text NOT NULL,
    batch_id text,
    entry json NOT NULL
);
CREATE INDEX pending_translations_of ON app_api.pending_translations (target_lang, status, created_at);
