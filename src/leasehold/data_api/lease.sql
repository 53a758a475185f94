-- A lease as it was opened; `_stable` members are USD in the scale of the token they come from.
-- name: opening
SELECT p.lease AS "LS_contract_id", p.owner AS "LS_address_id", p.asset AS "LS_asset_symbol",
    p.annual_rate AS "LS_interest", data_api.instant(p.opened_at) AS "LS_timestamp", p.pool AS "LS_loan_pool_id",
    coalesce(p.opened_amount, 0)::text AS "LS_loan_amnt",
    data_api.scaled(coalesce(p.loan_usd, 0), l.decimals) AS "LS_loan_amnt_stable", p.loan::text AS "LS_loan_amnt_asset",
    p.downpayment_ticker AS "LS_cltr_symbol",
    data_api.scaled(coalesce(p.downpayment_usd, 0), coalesce(d.decimals, 0)) AS "LS_cltr_amnt_stable",
    p.downpayment::text AS "LS_cltr_amnt_asset", '0' AS "LS_native_amnt_stable", '0' AS "LS_native_amnt_nolus",
    coalesce(p.opened_lpn_amount, 0)::text AS "LS_lpn_loan_amnt", upper(encode(p.opened_tx, 'hex')) AS "Tx_Hash",
    p.position_type AS "LS_position_type", p.lpn AS "LS_lpn_symbol",
    power(10::numeric, l.decimals)::bigint AS "LS_lpn_decimals", data_api.amount(p.opened_asset_price) AS "LS_opening_price",
    data_api.amount(p.opened_liquidation_price) AS "LS_liquidation_price_at_open",
    CASE WHEN p.status IN ('closed', 'liquidated') THEN p.status ELSE 'open' END AS status,
    data_api.instant(p.closed_at) AS closed_at, data_api.amount(p.realized_pnl_usd) AS pnl, p.protocol
FROM indexer.positions p
JOIN indexer.currencies l ON l.ticker = p.lpn
LEFT JOIN indexer.currencies d ON d.ticker = p.downpayment_ticker;

-- Leases of an account, newest first.
-- name: leases
{opening} WHERE p.owner = $1::text AND p.opened_at IS NOT NULL
ORDER BY p.opened_at DESC, p.lease LIMIT $3::bigint OFFSET $2::bigint;

-- Lease contracts of an account whose address contains a text, newest first.
-- name: leases_search
SELECT p.lease FROM indexer.positions p
WHERE p.owner = $1::text AND p.opened_at IS NOT NULL AND position($4::text IN p.lease) > 0
ORDER BY p.opened_at DESC, p.lease LIMIT $3::bigint OFFSET $2::bigint;

-- Down payments and loans of the openings of each month, newest first.
-- name: leases_monthly
SELECT data_api.amount(sum(opened_usd)) AS amount, to_char(date_trunc('month', day), 'YYYY-MM-DD"T00:00:00Z"') AS date
FROM indexer.days
WHERE openings > 0 AND day >= date_trunc('month', $1::timestamptz AT TIME ZONE 'UTC')
GROUP BY date_trunc('month', day)
HAVING max(updated_at) > $2::timestamptz
ORDER BY date_trunc('month', day) DESC;

-- Value of open positions by asset, largest first; of one protocol, or of all.
-- name: leased_assets
SELECT data_api.amount(sum(h.value_usd)) AS loan,
    CASE p.position_type WHEN 'Short' THEN p.label || ' (Short)' ELSE h.asset END AS asset
FROM indexer.position_hours h JOIN indexer.protocols p ON p.name = h.protocol
WHERE h.hour = (SELECT max(hour) FROM indexer.hours) AND ($1::text IS NULL OR h.protocol = $1::text)
GROUP BY 2 HAVING sum(h.value_usd) > 0 ORDER BY sum(h.value_usd) DESC, 2;

-- Mean and largest value of open positions by asset.
-- name: lease_value_stats
SELECT asset, data_api.amount(round(avg(value_usd), 18)) AS avg_value, data_api.amount(max(value_usd)) AS max_value
FROM indexer.position_hours
WHERE hour = (SELECT max(hour) FROM indexer.hours) AND value_usd IS NOT NULL
GROUP BY asset ORDER BY asset;

-- Principal of open positions by leased asset, or by what a short sells; smallest first.
-- name: loans_by_token
SELECT CASE p.position_type WHEN 'Short' THEN p.lpn || ' (Short)' ELSE h.asset END AS symbol,
    data_api.amount(sum(h.principal_usd)) AS value
FROM indexer.position_hours h JOIN indexer.protocols p ON p.name = h.protocol
WHERE h.hour = (SELECT max(hour) FROM indexer.hours)
GROUP BY 1 HAVING sum(h.principal_usd) > 0 ORDER BY sum(h.principal_usd), 1;

-- Loans ever granted by leased asset, smallest first.
-- name: loans_granted
SELECT CASE p.position_type WHEN 'Short' THEN p.label || ' (Short)' ELSE t.asset END AS asset,
    data_api.amount(sum(t.loan_usd)) AS loan
FROM indexer.asset_totals t JOIN indexer.protocols p ON p.name = t.protocol
GROUP BY 1 HAVING sum(t.loan_usd) > 0 ORDER BY sum(t.loan_usd), 1;

-- Leases by their contracts, as they were opened, with the price of the asset then.
-- name: briefs
SELECT o AS lease, coalesce(o."LS_opening_price", '0') AS downpayment_price
FROM (
    {opening} WHERE p.lease = ANY ($1::text[]) AND p.opened_at IS NOT NULL
    ORDER BY array_position($1::text[], p.lease)
) o;

-- One lease with everything that went through it; history amounts in base units, its newer members in whole units.
-- name: story
SELECT o AS lease, coalesce(o."LS_opening_price", '0') AS downpayment_price,
    data_api.amount(coalesce(p.opened_lpn_price, 0)) AS lpn_price, coalesce(p.fee, 0)::text AS fee,
    data_api.amount(p.repaid_usd) AS repayment_value,
    coalesce((
        SELECT json_agg(h) FROM (
            SELECT coalesce(e.payment_ticker, '') AS symbol, coalesce(e.payment, 0)::text AS amount, e.kind AS type,
                data_api.instant(e.time) AS time, e.sold_ticker AS ls_amnt_symbol, e.sold::text AS ls_amnt,
                e.cause AS additional, upper(encode(e.tx_hash, 'hex')) AS tx_hash,
                CASE p.position_type WHEN 'Long'
                    THEN data_api.amount(data_api.whole(e.principal_after, l.decimals)) END AS debt_stable,
                data_api.amount(data_api.whole(e.amount_after, a.decimals)) AS collateral_asset,
                CASE p.position_type WHEN 'Long'
                    THEN data_api.amount(e.liquidation_price_after) END AS liquidation_price
            FROM indexer.position_events e
            WHERE e.lease = p.lease AND e.kind IN ('repay', 'market-close', 'liquidation')
            ORDER BY e.height, e.tx, e.event
        ) h
    ), '[]') AS history,
    data_api.amount(coalesce(p.realized_pnl_usd, (
        SELECT x.pnl_usd FROM indexer.position_hours x
        WHERE x.lease = p.lease AND x.hour = (SELECT max(hour) FROM indexer.hours)
    ))) AS pnl
FROM ({opening} WHERE p.lease = $1::text AND p.opened_at IS NOT NULL) o
JOIN indexer.positions p ON p.lease = o."LS_contract_id"
JOIN indexer.currencies l ON l.ticker = p.lpn
LEFT JOIN indexer.currencies a ON a.ticker = p.asset;

-- Closed leases of an account, newest first.
-- name: ls_loan_closing
SELECT p.lease AS contract, p.asset, p.pool, coalesce(p.close_kind, 'none') AS kind, data_api.instant(p.closed_at) AS at,
    (coalesce(p.downpayment_usd, 0) + p.repaid_usd)::text AS sent, coalesce(p.collected_usd, 0)::text AS received,
    coalesce(p.realized_pnl_usd, 0)::text AS pnl, p.close_strategy AS strategy, p.close_strategy_ltv AS strategy_ltv
FROM indexer.positions p WHERE p.owner = $1::text AND p.closed_at IS NOT NULL
ORDER BY p.closed_at DESC, p.lease LIMIT $3::bigint OFFSET $2::bigint;

-- Liquidations, newest first.
-- name: liquidations
SELECT data_api.instant(e.time) AS timestamp, e.sold_ticker AS ticker, e.lease AS contract_id, e.owner AS "user",
    e.cause AS transaction_type, data_api.amount(coalesce(e.payment_usd, 0)) AS liquidation_amount,
    e.loan_close AS closed_loan, data_api.amount(coalesce(p.downpayment_usd, 0)) AS down_payment,
    data_api.amount(data_api.whole(p.loan, c.decimals)) AS loan, data_api.amount(e.asset_price) AS liquidation_price
FROM indexer.position_events e
JOIN indexer.positions p ON p.lease = e.lease
JOIN indexer.currencies c ON c.ticker = p.lpn
WHERE e.kind = 'liquidation' AND e.time > $1::timestamptz AND e.time > $2::timestamptz
ORDER BY e.height DESC, e.tx DESC, e.event DESC;

-- Interest and margin paid by repayments, market closes and liquidations, in USD, newest first.
-- name: interest_repayments
SELECT data_api.instant(e.time) AS timestamp, e.lease AS contract_id, e.owner AS position_owner, p.position_type,
    CASE e.kind WHEN 'repay' THEN 'repayment' WHEN 'market-close' THEN 'close' ELSE e.kind END AS event_type,
    data_api.amount(coalesce(e.interest_usd, 0)) AS loan_interest_repaid,
    data_api.amount(coalesce(e.margin_usd, 0)) AS margin_interest_repaid
FROM indexer.position_events e
JOIN indexer.protocols p ON p.name = e.protocol
WHERE e.kind IN ('repay', 'market-close', 'liquidation') AND e.time > $1::timestamptz AND e.time > $2::timestamptz
ORDER BY e.height DESC, e.tx DESC, e.event DESC;

-- An opening as lists of openings show it.
-- name: opened
SELECT p.lease AS contract_id, p.owner AS "user",
    CASE p.position_type WHEN 'Short' THEN r.label ELSE p.asset END AS leased_asset,
    data_api.instant(p.opened_at) AS opening_date, p.position_type,
    data_api.amount(coalesce(p.downpayment_usd, 0)) AS down_payment_amount, p.downpayment_ticker AS down_payment_asset,
    data_api.amount(coalesce(p.loan_usd, 0)) AS loan,
    data_api.amount(data_api.whole(coalesce(p.opened_lpn_amount, 0), coalesce(a.decimals, 0))) AS total_position_amount_lpn,
    data_api.amount(p.opened_asset_price) AS price, p.status = 'open' AS open,
    data_api.amount(p.opened_liquidation_price) AS liquidation_price
FROM indexer.positions p
JOIN indexer.protocols r ON r.name = p.protocol
LEFT JOIN indexer.currencies a ON a.ticker = p.asset;

-- Openings, newest first.
-- name: historically_opened
{opened}
WHERE p.opened_at > $1::timestamptz AND p.updated_at > $2::timestamptz
ORDER BY p.opened_at DESC, p.lease;

-- Positions that were repaid or closed on the market, the last paid first.
-- name: historically_repaid
SELECT p.lease AS contract_id, p.asset AS symbol, data_api.amount(data_api.whole(p.loan, c.decimals)) AS loan,
    data_api.amount(p.repaid_usd + p.closed_usd) AS total_repaid, data_api.instant(p.closed_at) AS close_timestamp,
    CASE WHEN p.closed_at IS NULL THEN 'no' ELSE 'yes' END AS loan_closed
FROM indexer.positions p JOIN indexer.currencies c ON c.ticker = p.lpn
WHERE p.opened_at > $1::timestamptz AND p.updated_at > $2::timestamptz AND p.last_repaid_at IS NOT NULL
ORDER BY p.last_repaid_at DESC, p.lease;

-- Positions that were liquidated, in part or as a whole, the last liquidated first.
-- name: historically_liquidated
SELECT p.lease AS contract_id, p.asset, data_api.amount(data_api.whole(p.loan, c.decimals)) AS loan,
    data_api.amount(p.liquidated_usd) AS total_liquidated
FROM indexer.positions p JOIN indexer.currencies c ON c.ticker = p.lpn
WHERE p.opened_at > $1::timestamptz AND p.updated_at > $2::timestamptz AND p.last_liquidated_at IS NOT NULL
ORDER BY p.last_liquidated_at DESC, p.lease;
