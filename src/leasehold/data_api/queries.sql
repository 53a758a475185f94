-- Where the index stands: the height and time every answer speaks for.
-- name: cursor
SELECT chain_id, first_height, height, time, time_ns, blocks, quarantined FROM indexer.cursor;

-- One indexed block.
-- name: block
SELECT height, encode(hash, 'hex') AS hash, time, tx_count, event_count FROM indexer.blocks WHERE height = $1;
