-- Where the index stands.
-- name: cursor
SELECT height, time_ns FROM indexer.cursor;
