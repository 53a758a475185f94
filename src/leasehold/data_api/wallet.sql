-- USD a lender earned in all pools: what the receipts are worth and what was taken out, less what was put in.
-- name: earnings
SELECT data_api.amount(coalesce(sum(greatest(e.gain, 0)), 0)) AS earnings,
    data_api.amount(data_api.whole(coalesce(sum(e.rewards), 0), $2::int)) AS rewards
FROM (
    SELECT round(data_api.whole(
            l.receipts * coalesce(h.worth, 1) + l.withdrawn - l.deposited, c.decimals
        ) * coalesce(n.price, h.lpn_price, 0), 18) AS gain,
        l.rewards
    FROM indexer.lenders l
    JOIN indexer.protocols p ON p.lpp = l.pool
    JOIN indexer.currencies c ON c.ticker = p.lpn
    LEFT JOIN indexer.prices_current n ON n.protocol = p.name AND n.ticker = p.lpn
    LEFT JOIN LATERAL (
        SELECT (x.balance + x.principal + x.interest) / nullif(x.receipts, 0) AS worth, x.lpn_price
        FROM indexer.pool_hours x WHERE x.pool = l.pool ORDER BY x.hour DESC LIMIT 1
    ) h ON true
    WHERE l.lender = $1::text
) e;

-- USD an account's open positions would make or lose, on the hour.
-- name: unrealized_pnl
SELECT data_api.amount(coalesce(sum(h.pnl_usd), 0)) AS unrealized_pnl
FROM indexer.positions p
JOIN indexer.position_hours h ON h.lease = p.lease AND h.hour = (SELECT max(hour) FROM indexer.hours)
WHERE p.owner = $1::text AND p.status = 'open';

-- An account's figures over all its leases.
-- name: account
SELECT openings, closings, wins, volume_usd::text AS volume, realized_pnl_usd::text AS pnl,
    ARRAY[band_0, band_1, band_2, band_3, band_4] AS bands
FROM indexer.accounts WHERE address = $1::text;

-- A message as it is shown, of rows `k` that say which ones are wanted; not a query of its own.
-- name: shown
SELECT m.message AS index, m.sender AS "from", CASE WHEN k.kind = 3 THEN '' ELSE m.receiver END AS "to", m.type,
    replace(encode(m.value, 'base64'), E'\n', '') AS value, upper(encode(t.hash, 'hex')) AS tx_hash, m.height AS block,
    data_api.amount(t.fee_amount) AS fee_amount, t.fee_denom, t.memo, data_api.instant(t.time) AS timestamp, m.rewards, t.code
FROM k
JOIN indexer.messages m USING (height, tx, message, inner_message)
JOIN indexer.txs t USING (height, tx)
ORDER BY m.height DESC, m.tx DESC, m.message DESC, m.inner_message DESC;

-- Messages of an account, newest first: all of some kinds.
-- name: txs
WITH k AS NOT MATERIALIZED (
    SELECT k.kind, a.height, a.tx, a.message, a.inner_message
    FROM unnest($4::smallint[]) AS k (kind),
    LATERAL (
        SELECT a.height, a.tx, a.message, a.inner_message FROM indexer.account_messages a
        WHERE a.address = $1::text AND a.kind = k.kind AND a.height <= $5::bigint
        ORDER BY a.height DESC, a.tx DESC, a.message DESC, a.inner_message DESC
        LIMIT $2::bigint + $3::bigint
    ) a
    ORDER BY a.height DESC, a.tx DESC, a.message DESC, a.inner_message DESC
    LIMIT $3::bigint OFFSET $2::bigint
)
{shown};

-- Messages of an account, newest first: all of some kinds, and of other kinds those that call one of some contracts.
-- Both the account and the contract have their rows; each walk goes down the two together, from a row of the contract
-- to the account's newest at or below it and back, so that it reads as little as the shorter of the two histories.
-- name: txs_called
WITH k AS NOT MATERIALIZED (
    SELECT * FROM (
        SELECT k.kind, a.height, a.tx, a.message, a.inner_message
        FROM unnest($4::smallint[]) AS k (kind),
        LATERAL (
            SELECT a.height, a.tx, a.message, a.inner_message FROM indexer.account_messages a
            WHERE a.address = $1::text AND a.kind = k.kind AND a.height <= $5::bigint
            ORDER BY a.height DESC, a.tx DESC, a.message DESC, a.inner_message DESC
            LIMIT $2::bigint + $3::bigint
        ) a
        UNION ALL
        SELECT b.kind, w.height, w.tx, w.message, w.inner_message
        FROM unnest($6::smallint[]) AS b (kind), unnest($7::text[]) AS c (contract),
        LATERAL (
            WITH RECURSIVE walk AS (
                SELECT r.height, r.tx, r.message, r.inner_message, a.at
                FROM (
                    SELECT r.height, r.tx, r.message, r.inner_message FROM indexer.account_messages r
                    WHERE r.address = c.contract AND r.kind = b.kind AND r.height <= $5::bigint
                    ORDER BY r.height DESC, r.tx DESC, r.message DESC, r.inner_message DESC LIMIT 1
                ) r,
                LATERAL (SELECT a AS at FROM indexer.account_messages a
                    WHERE a.address = $1::text AND a.kind = b.kind
                        AND (a.height, a.tx, a.message, a.inner_message) <= (r.height, r.tx, r.message, r.inner_message)
                    ORDER BY a.height DESC, a.tx DESC, a.message DESC, a.inner_message DESC LIMIT 1) a
                UNION ALL
                SELECT r.height, r.tx, r.message, r.inner_message, a.at
                FROM walk w,
                LATERAL (
                    SELECT r.height, r.tx, r.message, r.inner_message FROM indexer.account_messages r
                    WHERE r.address = c.contract AND r.kind = b.kind
                        AND (r.height, r.tx, r.message, r.inner_message)
                            <= ((w.at).height, (w.at).tx, (w.at).message, (w.at).inner_message)
                        AND (r.height, r.tx, r.message, r.inner_message) < (w.height, w.tx, w.message, w.inner_message)
                    ORDER BY r.height DESC, r.tx DESC, r.message DESC, r.inner_message DESC LIMIT 1
                ) r,
                LATERAL (SELECT a AS at FROM indexer.account_messages a
                    WHERE a.address = $1::text AND a.kind = b.kind
                        AND (a.height, a.tx, a.message, a.inner_message) <= (r.height, r.tx, r.message, r.inner_message)
                    ORDER BY a.height DESC, a.tx DESC, a.message DESC, a.inner_message DESC LIMIT 1) a
            )
            SELECT w.height, w.tx, w.message, w.inner_message FROM walk w
            WHERE ((w.at).height, (w.at).tx, (w.at).message, (w.at).inner_message)
                    = (w.height, w.tx, w.message, w.inner_message)
                AND EXISTS (
                    SELECT FROM indexer.messages m
                    WHERE (m.height, m.tx, m.message, m.inner_message) = (w.height, w.tx, w.message, w.inner_message)
                        AND m.receiver = c.contract
                )
            LIMIT $2::bigint + $3::bigint
        ) w
    ) a
    ORDER BY a.height DESC, a.tx DESC, a.message DESC, a.inner_message DESC
    LIMIT $3::bigint OFFSET $2::bigint
)
{shown};

-- The newest height whose block is not after an instant, found by halving: heights and times grow together.
-- name: height_at
WITH RECURSIVE search AS (
    SELECT first_height AS low, height + 1 AS high FROM indexer.cursor
    UNION ALL
    SELECT CASE WHEN b.time <= $1::timestamptz THEN b.height + 1 ELSE s.low END,
        CASE WHEN b.time <= $1::timestamptz THEN s.high ELSE b.height END
    FROM search s JOIN indexer.blocks b ON b.height = (s.low + s.high) / 2
    WHERE s.low < s.high
)
SELECT low - 1 FROM search WHERE low >= high;

-- What an account did with its stake, newest first; amounts in base units.
-- name: staking_activity
SELECT data_api.instant(time) AS timestamp, kind AS type, validator, source_validator, amount::text AS amount, denom,
    data_api.amount(usd) AS amount_usd, height AS block, upper(encode(tx_hash, 'hex')) AS tx_hash
FROM indexer.staking_activity WHERE delegator = $1::text
ORDER BY height DESC, tx DESC, message DESC, inner_message DESC LIMIT $3::bigint OFFSET $2::bigint;

-- Staking rewards an account took, in whole native tokens, and in USD at their time.
-- name: staking_earnings
SELECT data_api.amount(data_api.whole(coalesce(max(rewards), 0), $2::int)) AS earnings,
    data_api.amount(coalesce(max(rewards_usd), 0)) AS earnings_usd, coalesce(max(withdrawals), 0) AS withdrawals,
    data_api.instant(max(updated_at)) AS last_withdrawal
FROM indexer.stakers WHERE address = $1::text;

-- Warnings, refused swaps and automatic closes of an account's leases, newest first.
-- name: lease_signals
SELECT data_api.instant(time) AS timestamp, lease AS contract_id, kind AS type, asset, level, ltv, strategy,
    height AS block, upper(encode(tx_hash, 'hex')) AS tx_hash
FROM indexer.lease_signals WHERE owner = $1::text
ORDER BY height DESC, tx DESC, event DESC LIMIT $3::bigint OFFSET $2::bigint;
