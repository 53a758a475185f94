-- Every market: what is open in it, its leverage, its openings and the change of its price in 24 hours.
-- name: lease_markets
WITH place AS (
    SELECT time - interval '24 hours' AS since, date_trunc('hour', time - interval '24 hours') AS earlier FROM indexer.cursor
), markets AS (
    SELECT p.name AS protocol, p.network, p.position_type, c.ticker AS asset, p.lpn, c.ticker AS traded
    FROM indexer.protocols p JOIN indexer.currency_protocols c ON c.protocol = p.name
    WHERE p.is_active AND p.position_type = 'Long' AND c."group" = 'lease'
    UNION ALL
    SELECT p.name, p.network, p.position_type, p.stable, p.lpn, p.lpn
    FROM indexer.protocols p WHERE p.is_active AND p.position_type = 'Short'
), held AS (
    SELECT h.protocol, CASE p.position_type WHEN 'Short' THEN h.lpn ELSE h.asset END AS traded, count(*) AS positions,
        sum(h.value_usd) AS value,
        avg(h.value_usd / (h.value_usd - h.debt_usd)) FILTER (WHERE h.value_usd > h.debt_usd) AS leverage
    FROM indexer.position_hours h JOIN indexer.protocols p ON p.name = h.protocol
    WHERE h.hour = (SELECT max(hour) FROM indexer.hours)
    GROUP BY 1, 2
), opened AS (
    SELECT o.protocol, CASE o.position_type WHEN 'Short' THEN o.lpn ELSE o.asset END AS traded, count(*) AS openings
    FROM indexer.positions o, place
    WHERE o.updated_at > place.since AND o.opened_at > place.since
    GROUP BY 1, 2
)
SELECT m.protocol, m.network, m.position_type, m.asset, m.lpn, coalesce(held.positions, 0) AS open_positions,
    data_api.amount(coalesce(held.value, 0)) AS value, data_api.amount(round(held.leverage, 4)) AS mean_leverage,
    coalesce(opened.openings, 0) AS openings_24h, data_api.amount(n.price) AS price,
    data_api.amount(round((n.price / nullif(k.close, 0) - 1) * 100, 4)) AS price_change_24h
FROM markets m
LEFT JOIN held USING (protocol, traded)
LEFT JOIN opened USING (protocol, traded)
LEFT JOIN indexer.prices_current n ON n.protocol = m.protocol AND n.ticker = m.traded
LEFT JOIN indexer.price_candles k ON k.protocol = m.protocol AND k.ticker = m.traded AND k.minutes = 60
    AND k.start = (SELECT earlier FROM place)
ORDER BY coalesce(held.value, 0) DESC, m.protocol, m.asset;

-- Newest oracle prices in USD.
-- name: prices
SELECT ticker AS symbol, protocol, data_api.amount(price) AS price, data_api.instant(time) AS timestamp
FROM indexer.prices_current
WHERE ($1::text IS NULL OR protocol = $1::text) AND ($2::text IS NULL OR ticker = $2::text)
ORDER BY ticker, protocol;

-- Highest price of each bucket as pairs of milliseconds and USD, newest first.
-- name: price_points
SELECT '[' || coalesce(string_agg(
    '[' || (extract(epoch FROM start) * 1000)::bigint || ',' || high::float8 || ']', ',' ORDER BY start DESC
), '') || ']'
FROM indexer.price_candles
WHERE protocol = $1::text AND ticker = $2::text AND minutes = $3::smallint AND start >= $4::timestamptz;

-- Whether a protocol has a currency.
-- name: has_currency
SELECT EXISTS (SELECT FROM indexer.currency_protocols WHERE protocol = $1::text AND ticker = $2::text);
