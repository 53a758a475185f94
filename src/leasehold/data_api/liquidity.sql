-- Active pools on the newest hour.
-- name: pools
SELECT h.protocol, data_api.amount(h.utilization) AS utilization, data_api.amount(coalesce(h.supplied_usd, 0)) AS supplied,
    data_api.amount(coalesce(h.borrowed_usd, 0)) AS borrowed, data_api.amount(h.borrow_rate / 10.0) AS borrow_apr,
    data_api.amount(CASE
        WHEN h.lending_rate > 0 THEN round((power(1 + h.lending_rate / 36500, 365) - 1) * 100, 12) ELSE 0
    END) AS earn_apr,
    data_api.amount(h.min_utilization / 10.0) AS deposit_suspension,
    data_api.amount(h.optimal_utilization / 10.0) AS utilization_optimal,
    h.pool
FROM indexer.pool_hours h
WHERE h.hour = (SELECT max(hour) FROM indexer.hours)
ORDER BY h.protocol;

-- The optimal utilization of the pool with the most in it.
-- name: optimal
SELECT coalesce((
    SELECT to_char(optimal_utilization / 10.0, 'FM990.00') FROM indexer.pool_hours
    WHERE hour = (SELECT max(hour) FROM indexer.hours) ORDER BY supplied_usd DESC NULLS LAST, pool LIMIT 1
), '70.00');

-- Utilization of a pool hour by hour in percent, newest first.
-- name: utilization_level
SELECT data_api.instant(hour) AS timestamp, data_api.amount(utilization) AS utilization_level
FROM indexer.pool_hours
WHERE pool = $3::text AND hour > $1::timestamptz AND hour > $2::timestamptz ORDER BY hour DESC;

-- Borrow and lending rates of a pool hour by hour in percent a year, newest first.
-- name: rates
SELECT data_api.instant(hour) AS timestamp, data_api.amount(borrow_rate / 10.0) AS borrow_apr,
    data_api.amount(CASE
        WHEN lending_rate > 0 THEN round((power(1 + lending_rate / 36500, 365) - 1) * 100, 12) ELSE 0
    END) AS earn_apr
FROM indexer.pool_hours
WHERE pool = $3::text AND hour > $1::timestamptz AND hour > $2::timestamptz ORDER BY hour DESC;

-- Who has receipts, what they are worth on the hour, and since when.
-- name: current_lenders
SELECT data_api.instant(l.joined_at) AS joined, p.label AS pool, l.lender,
    data_api.amount(round(
        data_api.whole(l.receipts * coalesce(h.worth, 1), c.decimals) * coalesce(h.lpn_price, n.price, 0), 18
    )) AS lent_stables
FROM indexer.lenders l
JOIN indexer.protocols p ON p.lpp = l.pool
JOIN indexer.currencies c ON c.ticker = p.lpn
LEFT JOIN indexer.prices_current n ON n.protocol = p.name AND n.ticker = p.lpn
LEFT JOIN LATERAL (
    SELECT (x.balance + x.principal + x.interest) / nullif(x.receipts, 0) AS worth, x.lpn_price
    FROM indexer.pool_hours x WHERE x.pool = l.pool ORDER BY x.hour DESC LIMIT 1
) h ON true
WHERE l.receipts > 0
ORDER BY l.joined_at DESC, l.lender, l.pool;

-- Deposits and withdrawals, newest first.
-- name: historical_lenders
SELECT CASE f.kind WHEN 'deposit' THEN 'Deposit' ELSE 'Withdraw' END AS transaction_type,
    data_api.instant(f.time) AS timestamp, f.lender AS "user", data_api.amount(coalesce(f.usd, 0)) AS amount,
    p.label AS pool
FROM indexer.pool_flows f JOIN indexer.protocols p ON p.name = f.protocol
WHERE f.time > $1::timestamptz AND f.time > $2::timestamptz
ORDER BY f.height DESC, f.tx DESC, f.event DESC;

-- The first withdrawal of a transaction.
-- name: lp_withdraw
SELECT upper(encode(f.tx_hash, 'hex')) AS "Tx_Hash", f.height AS "LP_withdraw_height", f.event AS "LP_withdraw_idx",
    f.lender AS "LP_address_id", data_api.instant(f.time) AS "LP_timestamp", f.pool AS "LP_Pool_id",
    data_api.scaled(coalesce(f.usd, 0), c.decimals) AS "LP_amnt_stable", f.amount::text AS "LP_amnt_asset",
    f.receipts::text AS "LP_amnt_receipts", f.closes AS "LP_deposit_close", upper(encode(f.tx_hash, 'hex')) AS tx,
    f.amount::text AS amount, f.ticker AS asset, p.label AS pool, data_api.amount(f.usd) AS amount_usd
FROM indexer.pool_flows f
JOIN indexer.protocols p ON p.name = f.protocol
JOIN indexer.currencies c ON c.ticker = f.ticker
WHERE f.kind = 'withdraw' AND f.tx_hash = $1::bytea
ORDER BY f.height, f.tx, f.event;
