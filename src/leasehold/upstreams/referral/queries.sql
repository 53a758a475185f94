-- A new referrer; nothing where the wallet or the code is taken.
-- name: add_referrer
INSERT INTO upstreams.referrers (wallet, code, created_at) VALUES ($1, $2, $3)
ON CONFLICT DO NOTHING
RETURNING id, wallet, code, tier, status, created_at;

-- The referrer with a wallet.
-- name: referrer_of_wallet
SELECT id, wallet, code, tier, status, created_at FROM upstreams.referrers WHERE wallet = $1;

-- The referrer with a code.
-- name: referrer_of_code
SELECT id, wallet, code, tier, status, created_at FROM upstreams.referrers WHERE code = $1;

-- A referrer's tier and status changed where given.
-- name: change_referrer
UPDATE upstreams.referrers SET tier = coalesce($2, tier), status = coalesce($3, status) WHERE wallet = $1
RETURNING id, wallet, code, tier, status, created_at;

-- Heights up to which rewards are accounted for, locked until the transaction ends.
-- name: lock_rewards_cursor
SELECT height FROM upstreams.cursors WHERE name = 'rewards' FOR UPDATE;

-- Sets the height up to which rewards are accounted for.
-- name: move_rewards_cursor
UPDATE upstreams.cursors SET height = $1 WHERE name = 'rewards';

-- A referred wallet; nothing where it has a referrer already.
-- name: add_referral
INSERT INTO upstreams.referrals (referrer_id, wallet, from_height, assigned_at) VALUES ($1, $2, $3, $4)
ON CONFLICT DO NOTHING
RETURNING id, wallet, status, assigned_at;

-- Makes a referrer with enough referred wallets premium.
-- name: promote
UPDATE upstreams.referrers SET tier = 'premium'
WHERE id = $1 AND tier = 'general' AND (SELECT count(*) FROM upstreams.referrals WHERE referrer_id = $1) >= $2;

-- A referred wallet's status changed.
-- name: change_referral
UPDATE upstreams.referrals SET status = $3 WHERE referrer_id = $1 AND wallet = $2
RETURNING id, referrer_id, wallet, status, assigned_at;

-- A page of a referrer's referred wallets.
-- name: referrals
SELECT id, referrer_id, wallet, status, assigned_at FROM upstreams.referrals
WHERE referrer_id = $1 AND ($2::text IS NULL OR status = $2) ORDER BY id LIMIT $3 OFFSET $4;

-- How many referred wallets a referrer has.
-- name: count_referrals
SELECT count(*) FROM upstreams.referrals WHERE referrer_id = $1 AND ($2::text IS NULL OR status = $2);

-- A page of a referrer's rewards.
-- name: rewards
SELECT r.*, f.wallet FROM upstreams.rewards r JOIN upstreams.referrals f ON f.id = r.referral_id
WHERE r.referrer_id = $1 AND ($2::text IS NULL OR r.status = $2) ORDER BY r.id LIMIT $3 OFFSET $4;

-- How many rewards a referrer has.
-- name: count_rewards
SELECT count(*) FROM upstreams.rewards WHERE referrer_id = $1 AND ($2::text IS NULL OR status = $2);

-- A page of a referrer's payouts.
-- name: payouts
SELECT id, amount, denom, tx_hash, status, created_at, executed_at FROM upstreams.disbursements
WHERE purpose = 'payout' AND referrer_id = $1 AND ($2::text IS NULL OR status = $2) ORDER BY id LIMIT $3 OFFSET $4;

-- How many payouts a referrer has.
-- name: count_payouts
SELECT count(*) FROM upstreams.disbursements
WHERE purpose = 'payout' AND referrer_id = $1 AND ($2::text IS NULL OR status = $2);

-- Totals of a referrer's referred wallets and rewards.
-- name: stats
SELECT
    (SELECT count(*) FROM upstreams.referrals WHERE referrer_id = $1) AS referrals,
    (SELECT count(*) FROM upstreams.referrals WHERE referrer_id = $1 AND status = 'active') AS active_referrals,
    coalesce(sum(amount), 0) AS earned,
    coalesce(sum(amount) FILTER (WHERE status = 'paid'), 0) AS paid,
    count(*) FILTER (WHERE kind = 'bonus') AS bonuses,
    count(*) FILTER (WHERE kind = 'bonus' AND status = 'paid') AS bonuses_paid,
    coalesce(sum(amount) FILTER (WHERE kind = 'bonus'), 0) AS bonus_earned,
    coalesce(sum(amount) FILTER (WHERE kind = 'bonus' AND status = 'paid'), 0) AS bonus_paid
FROM upstreams.rewards WHERE referrer_id = $1;

-- A payout of all pending rewards of a referrer in a denom; nothing where there are none.
-- name: add_payout
INSERT INTO upstreams.disbursements (purpose, referrer_id, recipient, amount, denom, created_at)
SELECT 'payout', f.id, f.wallet, sum(r.amount), r.denom, $2
FROM upstreams.referrers f JOIN upstreams.rewards r ON r.referrer_id = f.id AND r.status = 'pending'
WHERE f.id = $1 AND r.denom = $3
GROUP BY f.id, f.wallet, r.denom
RETURNING id, amount, denom, tx_hash, status, created_at, executed_at;

-- Marks the pending rewards of a referrer as part of a payout.
-- name: include_rewards
UPDATE upstreams.rewards SET status = 'included', payout_id = $2
WHERE referrer_id = $1 AND status = 'pending' AND denom = $3;

-- Locks a referrer, so that two payouts never hold the same reward.
-- name: lock_referrer
SELECT id FROM upstreams.referrers WHERE wallet = $1 FOR UPDATE;

-- Wallets of active referrers due a payout: enough pending, no payout under way, none failed after an instant.
-- name: due_payouts
SELECT f.wallet FROM upstreams.referrers f
JOIN upstreams.rewards r ON r.referrer_id = f.id AND r.status = 'pending' AND r.denom = $1
WHERE f.status = 'active' AND NOT EXISTS (
    SELECT FROM upstreams.disbursements d WHERE d.purpose = 'payout' AND d.referrer_id = f.id
    AND (d.status IN ('pending', 'submitted') OR (d.status = 'failed' AND d.executed_at > $3)))
GROUP BY f.id, f.wallet HAVING sum(r.amount) >= $2 ORDER BY f.id;

-- What referred wallets' positions did in a range of heights, with who referred them.
-- name: earning_events
SELECT e.height, e.tx, e.event, e.kind, e.lease, e.time, p.opened_at, p.lpn,
    e.overdue_interest + e.overdue_margin + e.due_interest + e.due_margin AS interest,
    coalesce(e.interest_usd, 0) + coalesce(e.margin_usd, 0) AS interest_usd,
    coalesce(p.loan_usd, p.downpayment_usd, 0) AS loan_usd,
    f.id AS referral_id, f.referrer_id, r.tier,
    (SELECT max(w.period_end) FROM upstreams.rewards w WHERE w.referrer_id = f.referrer_id AND w.lease = e.lease) AS before
FROM indexer.position_events e
JOIN upstreams.referrals f ON f.wallet = e.owner AND f.status = 'active' AND e.height > f.from_height
JOIN upstreams.referrers r ON r.id = f.referrer_id AND r.status = 'active'
JOIN indexer.positions p ON p.lease = e.lease
WHERE e.height > $1 AND e.height <= $2
ORDER BY e.height, e.tx, e.event;

-- A reward for an event; nothing where the event was rewarded before.
-- name: add_reward
INSERT INTO upstreams.rewards (referrer_id, referral_id, kind, height, tx, event, lease, period_start, period_end,
    interest, interest_ticker, amount, denom, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
ON CONFLICT (height, tx, event) DO NOTHING;
