-- Every protocol, active ones first.
-- name: protocols
SELECT name, network, dex, position_type, lpn AS lpn_symbol, is_active, leaser, lpp, oracle, profit, reserve,
    deprecated_at
FROM indexer.protocols ORDER BY is_active DESC, name;
