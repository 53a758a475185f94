-- One disbursement.
-- name: one
SELECT * FROM upstreams.disbursements WHERE id = $1;

-- One payout, locked until the transaction ends.
-- name: lock_payout
SELECT * FROM upstreams.disbursements WHERE id = $1 AND purpose = 'payout' FOR UPDATE;

-- The oldest disbursements in a status.
-- name: oldest
SELECT * FROM upstreams.disbursements WHERE status = $1 ORDER BY id LIMIT $2;

-- The oldest pending disbursement made up to an instant.
-- name: due
SELECT * FROM upstreams.disbursements WHERE status = 'pending' AND created_at <= $1 ORDER BY id LIMIT 1;

-- Notes the signed transaction of a pending disbursement.
-- name: submit
UPDATE upstreams.disbursements
SET status = 'submitted', tx = $2, tx_hash = $3, timeout_height = $4, submitted_at = $5
WHERE id = $1 AND status = 'pending'
RETURNING *;

-- Ends a disbursement that has not ended yet.
-- name: finish
UPDATE upstreams.disbursements SET status = $2, failure = $3, executed_at = $4
WHERE id = $1 AND status IN ('pending', 'submitted')
RETURNING *;

-- Whether another payout names the same transaction.
-- name: is_claimed
SELECT EXISTS (SELECT FROM upstreams.disbursements WHERE tx_hash = $1 AND id <> $2 AND status <> 'failed');

-- Marks the rewards of a confirmed payout as paid.
-- name: pay_rewards
UPDATE upstreams.rewards SET status = 'paid' WHERE payout_id = $1;

-- Puts the rewards of a failed payout back.
-- name: release_rewards
UPDATE upstreams.rewards SET status = 'pending', payout_id = NULL WHERE payout_id = $1;

-- A refund of interest.
-- name: add_refund
INSERT INTO upstreams.disbursements (purpose, recipient, amount, denom, created_at) VALUES ('refund', $1, $2, $3, $4)
RETURNING id;
