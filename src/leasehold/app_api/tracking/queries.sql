-- How many transfers are on their way.
-- name: active
SELECT count(*) FROM app_api.transfers WHERE finished_at IS NULL;

-- Follow a transfer; following it twice is following it.
-- name: follow
INSERT INTO app_api.transfers (id, direction, channel, sequence, legs, created_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (id) DO NOTHING;

-- Transfers on their way, oldest first.
-- name: unfinished
SELECT id, direction, channel, sequence, legs, created_at
FROM app_api.transfers
WHERE finished_at IS NULL
ORDER BY created_at
LIMIT 1024;

-- What became of a transfer; one that has ended stays as it is.
-- name: advance
UPDATE app_api.transfers SET legs = $2, finished_at = $3 WHERE id = $1 AND finished_at IS NULL;

-- Forget transfers that ended before an instant.
-- name: forget
DELETE FROM app_api.transfers WHERE finished_at < $1;
