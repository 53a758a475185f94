-- Every open position on the hour, the last opened first.
-- name: positions
SELECT to_char(p.opened_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS date, p.position_type,
    CASE p.position_type WHEN 'Short' THEN h.lpn ELSE h.asset END AS symbol, h.asset, h.lease AS contract_id,
    h.owner AS "user", data_api.amount(coalesce(h.principal_usd, 0)) AS loan,
    data_api.amount(coalesce(p.downpayment_usd, 0)) AS down_payment,
    data_api.amount(coalesce(h.value_usd, 0)) AS lease_value, data_api.amount(h.pnl_usd) AS pnl,
    data_api.amount(round(h.pnl_usd / nullif(p.downpayment_usd, 0) * 100, 2)) AS pnl_percent,
    data_api.amount(CASE p.position_type WHEN 'Short' THEN h.lpn_price ELSE h.asset_price END) AS current_price,
    data_api.amount(round(h.liquidation_price, 4)) AS liquidation_price
FROM indexer.position_hours h
-- One by one: all positions there ever were are many more than those that are open.
JOIN LATERAL (SELECT * FROM indexer.positions p WHERE p.lease = h.lease OFFSET 0) p ON true
WHERE h.hour = (SELECT max(hour) FROM indexer.hours) AND h.amount > 0
ORDER BY p.opened_at DESC, p.lease;

-- Open positions by the size of their principal in USD; ranges without any are left out.
-- name: position_buckets
SELECT b.name AS loan_category, count(*) AS loan_count, data_api.amount(sum(h.principal_usd)) AS loan_size
FROM (VALUES
    (1, '0-0.999k', 0, 1000), (2, '1-1.9k', 1000, 2000), (3, '2-4.9k', 2000, 5000), (4, '5-9.9k', 5000, 10000),
    (5, '10-14.9k', 10000, 15000), (6, '15k+', 15000, 'infinity'::numeric)
) b (place, name, least, below)
JOIN indexer.position_hours h ON h.principal_usd >= b.least AND h.principal_usd < b.below
WHERE h.hour = (SELECT max(hour) FROM indexer.hours)
GROUP BY b.place, b.name ORDER BY b.place;

-- USD of loans opened and paid back by day, without gaps.
-- name: daily_positions
SELECT to_char(s.day, 'YYYY-MM-DD"T00:00:00Z"') AS date, data_api.amount(coalesce(d.closed_loans_usd, 0)) AS closed_loans,
    data_api.amount(coalesce(d.opened_loans_usd, 0)) AS opened_loans
FROM (
    SELECT generate_series(min(day), max(day), interval '1 day')::date AS day FROM indexer.days
    WHERE day >= ($1::timestamptz AT TIME ZONE 'UTC')::date AND updated_at > $2::timestamptz
        AND (closed_loans_usd > 0 OR opened_loans_usd > 0)
) s
LEFT JOIN indexer.days d ON d.day = s.day
ORDER BY s.day;

-- Value of open positions by leased asset, or by what a short sells; largest first.
-- name: open_positions_by_token
SELECT CASE p.position_type WHEN 'Short' THEN p.lpn || ' (Short)' ELSE h.asset END AS token,
    data_api.amount(sum(h.value_usd)) AS market_value
FROM indexer.position_hours h JOIN indexer.protocols p ON p.name = h.protocol
WHERE h.hour = (SELECT max(hour) FROM indexer.hours)
GROUP BY 1 HAVING sum(h.value_usd) > 0 ORDER BY sum(h.value_usd) DESC, 1;

-- Value and debt of an account's open positions hour by hour for twenty days.
-- name: position_debt_value
SELECT data_api.instant(hour) AS time, data_api.amount(position_usd) AS position, data_api.amount(debt_usd) AS debt
FROM indexer.account_hours
WHERE owner = $1::text AND hour > $2::timestamptz
ORDER BY hour;

-- Every position an account opened, newest first.
-- name: position_opens
{opened}
WHERE p.owner = $1::text AND p.opened_at IS NOT NULL
ORDER BY p.opened_at DESC, p.lease LIMIT $3::bigint OFFSET $2::bigint;
