-- One row whose number grows with every change, so that readers notice one by asking for a number.
CREATE TABLE app_api.configuration (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    version bigint NOT NULL DEFAULT 0
);
INSERT INTO app_api.configuration DEFAULT VALUES;

-- json, not jsonb: an export gives back the order and the spelling of what was imported.
CREATE TABLE app_api.documents (
    name text PRIMARY KEY,
    content json NOT NULL,
    version bigint NOT NULL DEFAULT 1,
    changed_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE app_api.locales (
    lang text PRIMARY KEY,
    label text NOT NULL,
    is_source boolean NOT NULL DEFAULT false,
    is_active boolean NOT NULL DEFAULT false,
    content json NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now()
);

-- Transfers between the chain and an SVM chain that somebody follows; `legs` is a list of phases.
CREATE TABLE app_api.transfers (
    id uuid PRIMARY KEY,
    direction text NOT NULL,
    channel text NOT NULL,
    legs json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz
);
