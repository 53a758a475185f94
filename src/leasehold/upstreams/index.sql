-- Whether the index is there at all.
-- name: has_index
SELECT to_regclass('indexer.position_events') IS NOT NULL;

-- The newest height of the index.
-- name: indexed_height
SELECT height FROM indexer.cursor;

-- Newest USD price of a whole unit of a currency.
-- name: price
SELECT price FROM indexer.prices_current WHERE ticker = $1 ORDER BY height DESC, protocol LIMIT 1;

-- A lease with the value of its asset in USD and the denom of what it owes.
-- name: position
SELECT p.lease, p.owner, p.protocol, p.asset, p.lpn, p.status, p.principal, r.leaser, l.bank_symbol AS denom,
    p.amount / power(10::numeric, a.decimals) * v.price AS value
FROM indexer.positions p
JOIN indexer.protocols r ON r.name = p.protocol
JOIN indexer.currency_protocols l ON l.protocol = p.protocol AND l.ticker = p.lpn
LEFT JOIN indexer.currency_protocols a ON a.protocol = p.protocol AND a.ticker = p.asset
LEFT JOIN indexer.prices_current v ON v.protocol = p.protocol AND v.ticker = p.asset
WHERE p.lease = $1;

-- Bank denoms of what the active protocols lend.
-- name: lent_denoms
SELECT DISTINCT c.bank_symbol FROM indexer.protocols p
JOIN indexer.currency_protocols c ON c.protocol = p.name AND c.ticker = p.lpn
WHERE p.is_active ORDER BY c.bank_symbol;
