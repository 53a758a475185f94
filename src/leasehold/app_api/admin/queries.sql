-- Count a change of configuration or locales; locks out other writers until the transaction ends.
-- name: touch
UPDATE app_api.configuration SET version = version + 1;

-- One document with its version, none where it does not exist.
-- name: document
SELECT version, content FROM app_api.documents WHERE name = $1;

-- Store a document; returns its new version.
-- name: put_document
INSERT INTO app_api.documents (name, content)
VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE
SET content = excluded.content, version = app_api.documents.version + 1, changed_at = now()
RETURNING version;

-- Note who changed what.
-- name: note
INSERT INTO app_api.audit (id, at, area, action, actor, lang, key, entry)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (id) DO NOTHING;

-- The newest notes of an area, of one language and action where given.
-- name: notes
SELECT id, at, action, actor, lang, key, entry
FROM app_api.audit
WHERE area = $1 AND ($2::text IS NULL OR lang = $2) AND ($3::text IS NULL OR action = $3)
ORDER BY at DESC, number DESC
LIMIT $4;

-- The newest notes about a text.
-- name: notes_of_key
SELECT id, at, action, actor, lang, key, entry
FROM app_api.audit
WHERE area = 'translations' AND lang = $1 AND key = $2
ORDER BY at DESC, number DESC
LIMIT $3;

-- Every language with its texts.
-- name: locales
SELECT lang, label, is_source, is_active, content FROM app_api.locales ORDER BY is_source DESC, lang;

-- One language with its texts.
-- name: locale
SELECT lang, label, is_source, is_active, content FROM app_api.locales WHERE lang = $1;

-- Replace the texts of a language.
-- name: put_texts
UPDATE app_api.locales SET content = $2, changed_at = now() WHERE lang = $1;

-- Add a language.
-- name: add_locale
INSERT INTO app_api.locales (lang, label, is_source, is_active, content) VALUES ($1, $2, false, true, $3);

-- Proposed texts, oldest first, of one language, state and batch where given.
-- name: pending
SELECT entry
FROM app_api.pending_translations
WHERE ($1::text IS NULL OR target_lang = $1) AND ($2::text IS NULL OR status = $2)
    AND ($3::text IS NULL OR batch_id = $3)
ORDER BY created_at, id;

-- One proposed text, locked until the transaction ends.
-- name: pending_one
SELECT entry FROM app_api.pending_translations WHERE id = $1 FOR UPDATE;

-- Store a proposed text.
-- name: put_pending
INSERT INTO app_api.pending_translations (id, created_at, target_lang, source_key, status, batch_id, entry)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (id) DO UPDATE SET status = excluded.status, entry = excluded.entry;

-- Forget a proposed text.
-- name: drop_pending
DELETE FROM app_api.pending_translations WHERE id = $1;

-- How many proposed texts wait, by language.
-- name: waiting
SELECT target_lang, count(*) AS waiting FROM app_api.pending_translations WHERE status = 'pending' GROUP BY target_lang;

-- Hashes of the keys that are good at a moment.
-- name: good_keys
SELECT hash FROM app_api.admin_keys WHERE ends_at IS NULL OR ends_at > $1 ORDER BY number;

-- Every key there was, the oldest first.
-- name: all_keys
SELECT name, created_at, ends_at FROM app_api.admin_keys ORDER BY number;

-- Keep others from changing keys until the transaction ends.
-- name: lock_keys
LOCK TABLE app_api.admin_keys IN SHARE ROW EXCLUSIVE MODE;

-- How many keys of a name are good at a moment.
-- name: count_keys
SELECT count(*) FROM app_api.admin_keys WHERE name = $1 AND (ends_at IS NULL OR ends_at > $2);

-- Store the hash of a key.
-- name: add_key
INSERT INTO app_api.admin_keys (name, hash, created_at) VALUES ($1, $2, $3);

-- Let the keys of a name end at $3, those that end sooner excepted; $2 is now.
-- name: end_keys
UPDATE app_api.admin_keys
SET ends_at = $3
WHERE name = $1 AND (ends_at IS NULL OR ends_at > $2) AND (ends_at IS NULL OR ends_at > $3);

-- Forget all but the newest notes of an area.
-- name: shorten
DELETE FROM app_api.audit
WHERE area = $1
    AND number IN (
        SELECT number FROM app_api.audit WHERE area = $1 ORDER BY at DESC, number DESC OFFSET $2
    );
