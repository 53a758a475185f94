-- Activates a subscription; other accounts of the same browser no longer follow it.
-- name: subscribe
WITH moved AS (
    UPDATE data_api.subscriptions SET active = false, updated_at = now()
    WHERE auth = $3 AND address <> $1 AND active
)
INSERT INTO data_api.subscriptions AS s (address, endpoint, auth, p256dh, expires_at)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (address, auth) DO UPDATE SET endpoint = excluded.endpoint, p256dh = excluded.p256dh,
    expires_at = excluded.expires_at, active = true, updated_at = now();

-- How many other browsers hear about an account.
-- name: others
SELECT count(*) FROM data_api.subscriptions
WHERE address = $1 AND auth <> $2 AND active AND (expires_at IS NULL OR expires_at > now());

-- Deactivates a subscription; says whether it was active.
-- name: unsubscribe
UPDATE data_api.subscriptions SET active = false, updated_at = now()
WHERE address = $1 AND auth = $2 AND active RETURNING true;

-- Whether a subscription is known, and whether it is active.
-- name: subscription
SELECT active FROM data_api.subscriptions WHERE address = $1 AND auth = $2;

-- The key kept here, if there is one.
-- name: key
SELECT private_key FROM data_api.vapid;

-- Keeps a key unless another process was first.
-- name: keep_key
INSERT INTO data_api.vapid (private_key) VALUES ($1) ON CONFLICT DO NOTHING;

-- Turns messages of committed blocks into one delivery per browser; old ones are not news and reach nobody.
-- name: spread
WITH taken AS (
    SELECT id, owner, payload, time FROM indexer.outbox
    WHERE delivered_at IS NULL ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED
), done AS (
    UPDATE indexer.outbox o SET delivered_at = now(), attempts = o.attempts + 1 FROM taken t WHERE o.id = t.id
), spread AS (
    INSERT INTO data_api.deliveries (message, subscription, payload, expires_at)
    SELECT t.id, s.id, t.payload, t.time + $3::interval
    FROM taken t JOIN data_api.subscriptions s ON s.address = t.owner
    WHERE t.time > $2::timestamptz AND s.active AND (s.expires_at IS NULL OR s.expires_at > now())
    ON CONFLICT DO NOTHING
)
SELECT count(*) FROM taken;

-- Takes deliveries that are due, so that no other process sends them.
-- name: take
UPDATE data_api.deliveries d SET state = 'sending', attempts = d.attempts + 1, changed_at = now()
FROM (
    SELECT x.message, x.subscription FROM data_api.deliveries x
    WHERE x.state = 'waiting' AND x.next_attempt_at <= $1::timestamptz
    ORDER BY x.next_attempt_at LIMIT $2 FOR UPDATE SKIP LOCKED
) due
JOIN data_api.subscriptions s ON s.id = due.subscription
WHERE d.message = due.message AND d.subscription = due.subscription
RETURNING d.message, d.subscription, d.payload, d.attempts, d.expires_at, s.endpoint, s.p256dh, s.auth, s.active;

-- How a delivery ended.
-- name: settle
UPDATE data_api.deliveries SET state = $3, changed_at = now() WHERE message = $1 AND subscription = $2;

-- Lets a delivery that was clearly refused wait for another try.
-- name: postpone
UPDATE data_api.deliveries SET state = 'waiting', next_attempt_at = $3, changed_at = now()
WHERE message = $1 AND subscription = $2;

-- Forgets an address that a push service says is gone.
-- name: drop_endpoint
UPDATE data_api.subscriptions SET active = false, updated_at = now() WHERE endpoint = $1 AND active;

-- Deliveries a dead process left half done: they may have been sent, so they are not sent again.
-- name: abandon
UPDATE data_api.deliveries SET state = 'uncertain', changed_at = now()
WHERE state = 'sending' AND changed_at < $1::timestamptz;
