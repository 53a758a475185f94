-- Every currency with where it is used, active ones first.
-- name: currencies
SELECT c.ticker, c.decimals AS decimal_digits, c.is_active, c.deprecated_at,
    coalesce((
        SELECT json_agg(l ORDER BY l.protocol)
        FROM (
            SELECT p.protocol, p."group", p.bank_symbol, p.dex_symbol, p.decimals AS decimal_digits
            FROM indexer.currency_protocols p WHERE p.ticker = c.ticker
        ) l
    ), '[]') AS protocols
FROM indexer.currencies c ORDER BY c.is_active DESC, c.ticker;
