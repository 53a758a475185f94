-- A new campaign.
-- name: add_campaign
INSERT INTO upstreams.campaigns (name, active, protocols, currencies, wallets, start_date, end_date, description)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING *;

-- A campaign replaced by another description of it.
-- name: replace_campaign
UPDATE upstreams.campaigns SET name = $2, active = $3, protocols = $4, currencies = $5, wallets = $6,
    start_date = $7, end_date = $8, description = $9
WHERE id = $1 RETURNING *;

-- All campaigns.
-- name: campaigns
SELECT * FROM upstreams.campaigns ORDER BY id;

-- Campaigns that run at an instant.
-- name: running_campaigns
SELECT * FROM upstreams.campaigns
WHERE active AND (start_date IS NULL OR start_date <= $1) AND (end_date IS NULL OR end_date > $1) ORDER BY id;

-- Name and leaser of a protocol known by either.
-- name: protocol_names
SELECT name, leaser FROM indexer.protocols WHERE name = $1 OR leaser = $1;

-- The terms of payments.
-- name: terms
SELECT * FROM upstreams.payment_terms;

-- The terms replaced.
-- name: set_terms
UPDATE upstreams.payment_terms SET enabled = $1, max_payment_amount = $2, min_lease_value = $3,
    max_active_payments = $4, supported_denoms = $5
RETURNING *;

-- Locks the terms, so that an owner's payments are counted one request at a time.
-- name: lock_terms
SELECT * FROM upstreams.payment_terms FOR UPDATE;

-- How many payments of an owner are pending.
-- name: count_pending
SELECT count(*) FROM upstreams.payments WHERE owner = $1 AND status = 'pending';

-- Whether a payment for a lease is pending.
-- name: is_pending
SELECT EXISTS (SELECT FROM upstreams.payments WHERE lease = $1 AND status = 'pending');

-- A new payment.
-- name: add_payment
INSERT INTO upstreams.payments (lease, owner, amount, denom, ticker, signature, from_height, payment_date, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING *;

-- Payments of an owner, oldest first.
-- name: of_owner
SELECT * FROM upstreams.payments WHERE owner = $1 ORDER BY id LIMIT 1000;

-- Payments for a lease, oldest first.
-- name: of_lease
SELECT * FROM upstreams.payments WHERE lease = $1 ORDER BY id LIMIT 1000;

-- One payment, locked until the transaction ends.
-- name: lock_payment
SELECT * FROM upstreams.payments WHERE id = $1 FOR UPDATE;

-- Ends a pending payment.
-- name: finish
UPDATE upstreams.payments SET status = $2, refund_id = $3, finished_at = $4 WHERE id = $1 AND status = 'pending'
RETURNING *;

-- Pending payments with the first indexed repayment that covers each, where there is one.
-- name: covered
SELECT p.id, p.owner, p.denom, e.overdue_interest + e.overdue_margin + e.due_interest + e.due_margin AS interest
FROM upstreams.payments p
CROSS JOIN LATERAL (
    SELECT * FROM indexer.position_events e
    WHERE e.lease = p.lease AND e.kind = 'repay' AND e.height > p.from_height
        AND e.payment_ticker = p.ticker AND e.payment >= p.amount
    ORDER BY e.height, e.tx, e.event LIMIT 1
) e
WHERE p.status = 'pending' ORDER BY p.id;

-- Pending payments whose day has passed.
-- name: overdue
SELECT id FROM upstreams.payments WHERE status = 'pending' AND payment_date < $1 ORDER BY id;
