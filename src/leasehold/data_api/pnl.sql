-- USD an account made or lost with positions that are closed.
-- name: realized_pnl
SELECT coalesce((SELECT realized_pnl_usd FROM indexer.accounts WHERE address = $1::text), 0)::text AS pnl;

-- An account's closed positions as two trades each: into the position and out of it.
-- name: realized_pnl_data
WITH ended AS (
    SELECT p.*, CASE WHEN p.asset IN ('USDC', 'USDC_NOBLE') THEN 'USDC' ELSE p.asset END AS shown,
        CASE p.position_type WHEN 'Short' THEN r.label || ' short' ELSE p.asset || ' long' END AS kind_of,
        data_api.amount(data_api.whole(coalesce(p.opened_amount, 0), a.decimals)) AS size
    FROM indexer.positions p
    JOIN indexer.protocols r ON r.name = p.protocol
    JOIN indexer.currencies a ON a.ticker = p.asset
    WHERE p.owner = $1::text AND p.closed_at IS NOT NULL AND p.opened_at IS NOT NULL
), trades AS (
    SELECT lease, data_api.amount(coalesce(downpayment_usd, 0) + repaid_usd) AS sent, 'USDC' AS sent_currency, size AS received,
        shown AS received_currency, kind_of || ' opening' AS description, opened_tx AS tx, opened_at AS at
    FROM ended
    UNION ALL
    SELECT lease, size, shown, data_api.amount(coalesce(collected_usd, 0)), 'USDC',
        CASE WHEN collected_usd > 0 THEN kind_of || ' closing' ELSE kind_of || ' liquidation' END, close_tx, closed_at
    FROM ended
)
SELECT lease AS "Position ID", sent AS "Sent Amount", sent_currency AS "Sent Currency", received AS "Received Amount",
    received_currency AS "Received Currency", '0' AS "Fee Amount", 'USDC' AS "Fee Currency", 'margin trading' AS "Label",
    description AS "Description", upper(encode(tx, 'hex')) AS "TxHash", data_api.instant(at) AS "Date"
FROM trades ORDER BY at, lease, sent_currency, received_currency;

-- USD made or lost by all closed positions, cut to cents.
-- name: realized_pnl_stats
SELECT trunc(coalesce((SELECT usd FROM indexer.totals WHERE name = 'realized_pnl'), 0), 2)::text AS amount;

-- Closed positions, the last closed first.
-- name: realized_pnl_wallet
SELECT p.lease AS contract_id, p.owner AS "user", p.asset AS leased_asset, p.downpayment_ticker AS down_payment_asset,
    data_api.instant(p.opened_at) AS opening_date, data_api.instant(p.closed_at) AS close_timestamp,
    data_api.amount(coalesce(p.downpayment_usd, 0)) AS down_payment_stable,
    data_api.amount(p.repaid_usd) AS manual_repayments_stable,
    data_api.amount(coalesce(p.downpayment_usd, 0) + p.repaid_usd) AS total_outflow_stable,
    data_api.amount(p.liquidated_usd) AS liquidations_stable, p.liquidations AS liquidation_events,
    p.collected -> 0 ->> 'ticker' AS returned_lpn,
    data_api.amount(data_api.whole((p.collected -> 0 ->> 'amount')::numeric, c.decimals)) AS returned_amount_lpn_units,
    data_api.amount(coalesce(p.collected_usd, 0)) AS returned_amount_stable,
    data_api.amount(coalesce(p.realized_pnl_usd, 0)) AS realized_pnl_stable
FROM indexer.positions p LEFT JOIN indexer.currencies c ON c.ticker = p.collected -> 0 ->> 'ticker'
WHERE p.closed_at IS NOT NULL AND p.opened_at > $1::timestamptz AND p.updated_at > $2::timestamptz
ORDER BY p.closed_at DESC, p.lease;

-- USD all open positions would make or lose, on the hour.
-- name: unrealized_pnl
SELECT data_api.amount(coalesce((SELECT unrealized_pnl_usd FROM indexer.hours ORDER BY hour DESC LIMIT 1), 0))
    AS unrealized_pnl;

-- Unrealized profit of a lease hour by hour.
-- name: pnl_over_time
SELECT data_api.amount(pnl_usd) AS amount, data_api.instant(hour) AS date
FROM indexer.position_hours
WHERE lease = $1::text AND hour >= $2::timestamptz AND pnl_usd IS NOT NULL
ORDER BY hour;
