-- How many blocks the index holds.
-- name: blocks
SELECT coalesce((SELECT blocks FROM indexer.cursor), 0)::text;

-- The newest block.
-- name: latest
SELECT height, upper(encode(hash, 'hex')) AS hash, data_api.instant(time) AS time, tx_count
FROM indexer.blocks WHERE height = (SELECT height FROM indexer.cursor);

-- A block.
-- name: block
SELECT height, upper(encode(hash, 'hex')) AS hash, data_api.instant(time) AS time, tx_count
FROM indexer.blocks WHERE height = $1::bigint;

-- What the index covers; it has gaps only where it holds fewer blocks than heights.
-- name: coverage
SELECT first_height, height, blocks FROM indexer.cursor;

-- Missing ranges of heights.
-- name: gaps
SELECT height + 1 AS first, following - 1 AS last
FROM (SELECT height, lead(height) OVER (ORDER BY height) AS following FROM indexer.blocks) b
WHERE following > height + 1 ORDER BY height;
