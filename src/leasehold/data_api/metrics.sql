-- Value of open positions and of what pools have not lent, on the hour.
-- name: total_value_locked
SELECT data_api.amount(coalesce((SELECT tvl_usd FROM indexer.hours ORDER BY hour DESC LIMIT 1), 0))
    AS total_value_locked;

-- Lifetime volume of openings, repayments, market closes, deposits and withdrawals.
-- name: total_tx_value
SELECT data_api.amount(coalesce((SELECT usd FROM indexer.totals WHERE name = 'tx_value'), 0)) AS total_tx_value;

-- What lenders have in active pools on the hour, cut to cents.
-- name: supplied_funds
SELECT coalesce((SELECT trunc(supplied_usd, 2)::text FROM indexer.hours ORDER BY hour DESC LIMIT 1), '0') AS amount;

-- Principal outstanding in active pools on the hour.
-- name: borrowed
SELECT data_api.amount(coalesce((SELECT borrowed_usd FROM indexer.hours ORDER BY hour DESC LIMIT 1), 0)) AS borrowed;

-- Principal outstanding in one pool on its newest hour.
-- name: borrowed_of
SELECT data_api.amount(coalesce((
    SELECT borrowed_usd FROM indexer.pool_hours WHERE pool = $1::text ORDER BY hour DESC LIMIT 1
), 0)) AS borrowed;

-- What all open positions owe on the hour, principal and every interest.
-- name: open_interest
SELECT data_api.amount(coalesce((SELECT open_interest_usd FROM indexer.hours ORDER BY hour DESC LIMIT 1), 0))
    AS open_interest;

-- What all open positions are worth on the hour.
-- name: open_position_value
SELECT data_api.amount(coalesce((SELECT position_usd FROM indexer.hours ORDER BY hour DESC LIMIT 1), 0))
    AS open_position_value;

-- Supplied and borrowed hour by hour over active pools, newest first.
-- name: supplied_borrowed_history
SELECT data_api.instant(hour) AS lp_pool_timestamp, data_api.amount(supplied_usd) AS supplied,
    data_api.amount(borrowed_usd) AS borrowed
FROM indexer.hours WHERE hour > $1::timestamptz AND hour > $2::timestamptz ORDER BY hour DESC;

-- Supplied and borrowed hour by hour of one pool, newest first.
-- name: supplied_borrowed_history_of
SELECT data_api.instant(hour) AS lp_pool_timestamp, data_api.amount(coalesce(supplied_usd, 0)) AS supplied,
    data_api.amount(coalesce(borrowed_usd, 0)) AS borrowed
FROM indexer.pool_hours
WHERE pool = $3::text AND hour > $1::timestamptz AND hour > $2::timestamptz ORDER BY hour DESC;

-- Total value locked and its parts hour by hour, newest first.
-- name: total_value_locked_series
SELECT data_api.instant(hour) AS timestamp, data_api.amount(tvl_usd) AS total_value_locked,
    data_api.amount(position_usd) AS positions, data_api.amount(supplied_usd - borrowed_usd) AS available
FROM indexer.hours WHERE hour > $1::timestamptz AND hour > $2::timestamptz ORDER BY hour DESC;

-- Accounts that opened, repaid, closed, deposited or withdrew, by month.
-- name: monthly_active_wallets
SELECT to_char(month, 'YYYY-MM') AS month, wallets AS unique_addresses
FROM indexer.months
WHERE month >= date_trunc('month', $1::timestamptz AT TIME ZONE 'UTC') AND updated_at > $2::timestamptz
ORDER BY indexer.months.month;
