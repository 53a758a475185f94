-- The number that grows with every change.
-- name: version
SELECT version FROM app_api.configuration;

-- Count a change; locks out other writers until the transaction ends.
-- name: touch
UPDATE app_api.configuration SET version = version + 1;

-- Every document.
-- name: documents
SELECT name, content FROM app_api.documents ORDER BY name;

-- Version of one document, none where it does not exist.
-- name: document_version
SELECT version FROM app_api.documents WHERE name = $1;

-- Store a document; returns its new version.
-- name: put_document
INSERT INTO app_api.documents (name, content)
VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE
SET content = excluded.content, version = app_api.documents.version + 1, changed_at = now()
RETURNING version;

-- Every language with its texts.
-- name: locales
SELECT lang, label, is_source, is_active, content FROM app_api.locales ORDER BY lang;

-- Store a language.
-- name: put_locale
INSERT INTO app_api.locales (lang, label, is_source, is_active, content)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (lang) DO UPDATE
SET label = excluded.label, is_source = excluded.is_source, is_active = excluded.is_active,
    content = excluded.content, changed_at = now();

-- Legs of a followed transfer, none for an unknown id.
-- name: transfer
SELECT legs FROM app_api.transfers WHERE id = $1;
