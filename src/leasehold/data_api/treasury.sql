-- USD of everything bought back, at the time of each buy-back.
-- name: revenue
SELECT data_api.amount(coalesce((SELECT usd FROM indexer.totals WHERE name = 'profit'), 0)) AS revenue;

-- Revenue by day, and all of it up to that day, also what came before the window.
-- name: revenue_series
SELECT to_char(day, 'YYYY-MM-DD"T00:00:00Z"') AS time, data_api.amount(profit_usd) AS daily,
    data_api.amount(cumulative) AS cumulative
FROM (
    SELECT day, profit_usd, updated_at, sum(profit_usd) OVER (ORDER BY day) AS cumulative
    FROM indexer.days WHERE profit > 0
) d
WHERE day >= ($1::timestamptz AT TIME ZONE 'UTC')::date AND updated_at > $2::timestamptz
ORDER BY day;

-- Native tokens distributed to pools.
-- name: distributed
SELECT data_api.amount(data_api.whole(coalesce((SELECT amount FROM indexer.totals WHERE name = 'rewards'), 0), $1::int))
    AS distributed;

-- Every buy-back with the sum of all up to it: the total less what came later.
-- name: buyback
SELECT data_api.amount(data_api.whole(
        (SELECT amount FROM indexer.totals WHERE name = 'profit')
            - sum(amount) OVER (ORDER BY height DESC, tx DESC, event DESC) + amount, {decimals}
    )) AS bought_back,
    data_api.instant(time) AS timestamp
FROM indexer.treasury_flows
WHERE kind = 'profit' AND time > $1::timestamptz AND time > $2::timestamptz
ORDER BY height, tx, event;

-- Native tokens bought back.
-- name: buyback_total
SELECT data_api.amount(data_api.whole(coalesce((SELECT amount FROM indexer.totals WHERE name = 'profit'), 0), $1::int))
    AS buyback_total;

-- Native tokens the treasury holds.
-- name: incentives_pool
SELECT data_api.amount(data_api.whole(coalesce((
    SELECT b.amount FROM indexer.platform p JOIN indexer.balances b ON b.address = p.treasury AND b.denom = $2::text
), 0), $1::int)) AS incentives_pool;

-- Losses of pools that a reserve covered, newest first.
-- name: reserve_covers
SELECT data_api.instant(r.time) AS timestamp, r.protocol, r.lease AS contract_id, r.ticker AS symbol,
    data_api.amount(data_api.whole(r.amount, c.decimals)) AS amount, data_api.amount(r.usd) AS amount_usd,
    upper(encode(r.tx_hash, 'hex')) AS tx_hash
FROM indexer.reserve_covers r JOIN indexer.currencies c ON c.ticker = r.ticker
WHERE r.time > $1::timestamptz AND r.time > $2::timestamptz
ORDER BY r.height DESC, r.tx DESC, r.event DESC;
