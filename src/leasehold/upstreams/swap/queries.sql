-- A transaction to follow; one that is followed already stays as it is.
-- name: track
INSERT INTO upstreams.tracked_swaps (chain_id, tx_hash, state, status, created_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT DO NOTHING;

-- A followed transaction.
-- name: tracked
SELECT state, status, created_at, finished_at FROM upstreams.tracked_swaps WHERE chain_id = $1 AND tx_hash = $2;

-- Followed transactions that have not ended, oldest first.
-- name: open
SELECT chain_id, tx_hash, created_at FROM upstreams.tracked_swaps WHERE finished_at IS NULL ORDER BY created_at LIMIT $1;

-- What a followed transaction has come to; one that has ended stays ended.
-- name: note
UPDATE upstreams.tracked_swaps SET state = $3, status = $4, finished_at = $5
WHERE chain_id = $1 AND tx_hash = $2 AND finished_at IS NULL;

-- How many transactions are followed.
-- name: count_open
SELECT count(*) FROM upstreams.tracked_swaps WHERE finished_at IS NULL;

-- Forget what ended before a moment; the chain still tells about it.
-- name: forget
DELETE FROM upstreams.tracked_swaps WHERE finished_at < $1;
