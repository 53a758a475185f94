-- Where the index stands; no row in a fresh database.
-- name: cursor
SELECT chain_id, first_height, height, hash, time, time_ns, blocks, txs, events, quarantined FROM {schema}.cursor;

-- Moves the cursor to the last block of a batch, counting what came with it.
-- name: move_cursor
INSERT INTO {schema}.cursor AS c
    (chain_id, first_height, height, hash, time, time_ns, blocks, txs, events, quarantined)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (one) DO UPDATE SET
    height = excluded.height, hash = excluded.hash, time = excluded.time, time_ns = excluded.time_ns,
    blocks = c.blocks + excluded.blocks, txs = c.txs + excluded.txs, events = c.events + excluded.events,
    quarantined = c.quarantined + excluded.quarantined
WHERE c.height < excluded.height AND c.chain_id = excluded.chain_id;

-- Where a batch's candles wait; prices are integers of 10^-18 USD there.
-- name: candle_stage
CREATE TEMPORARY TABLE IF NOT EXISTS staged_candles (
    protocol text, ticker text, minutes smallint, start timestamptz,
    open numeric, high numeric, low numeric, close numeric, points integer
) ON COMMIT DELETE ROWS;

-- Notes the staged candles, widening those that a later batch continues.
-- name: note_candles
INSERT INTO {schema}.price_candles AS c (protocol, ticker, minutes, start, open, high, low, close, points)
SELECT protocol, ticker, minutes, start, open * 1e-18, high * 1e-18, low * 1e-18, close * 1e-18, points
FROM staged_candles
ON CONFLICT (protocol, ticker, minutes, start) DO UPDATE SET
    high = greatest(c.high, excluded.high), low = least(c.low, excluded.low),
    close = excluded.close, points = c.points + excluded.points;

-- Notes wallets seen in a month and counts those that are new in it.
-- name: note_wallets
WITH seen AS (
    SELECT month, address, at FROM unnest(%s::date[], %s::text[], %s::timestamptz[]) AS t (month, address, at)
), fresh AS (
    INSERT INTO {schema}.active_wallets (month, address) SELECT month, address FROM seen
    ON CONFLICT DO NOTHING RETURNING month, address
)
INSERT INTO {schema}.months AS m (month, wallets, updated_at)
SELECT fresh.month, count(*), max(seen.at) FROM fresh JOIN seen USING (month, address) GROUP BY fresh.month
ON CONFLICT (month) DO UPDATE SET wallets = m.wallets + excluded.wallets, updated_at = excluded.updated_at;

-- Drops observations no oracle can still average over.
-- name: drop_old_feeds
DELETE FROM {schema}.price_feeds WHERE time_ns < %s;

-- Columns of the tables that are written by name.
-- name: columns
SELECT table_name, column_name FROM information_schema.columns
WHERE table_schema = %s AND is_generated = 'NEVER' ORDER BY table_name, ordinal_position;

-- Every protocol ever seen.
-- name: protocols
SELECT name, network, dex, lpn, stable, leaser, lpp, oracle, profit, reserve, first_seen_at, deprecated_at, config
FROM {schema}.protocols ORDER BY name;

-- Every currency of every protocol.
-- name: currency_protocols
SELECT protocol, ticker, bank_symbol, dex_symbol, decimals, "group" FROM {schema}.currency_protocols ORDER BY 1, 2;

-- The contracts above the protocols.
-- name: platform
SELECT admin, treasury, timealarms FROM {schema}.platform;

-- Coins of followed contracts.
-- name: balances
SELECT address, denom, amount FROM {schema}.balances;

-- Running totals of every pool.
-- name: pools
SELECT pool, protocol, principal, interest, annual, rate_of, updated_ns, receipts, newest_rate FROM {schema}.pools;

-- Positions that are not final.
-- name: living_positions
SELECT * FROM {schema}.positions WHERE status IN ('opening', 'open', 'closing');

-- Every lender in every pool.
-- name: lenders
SELECT lender, pool, joined_at, receipts, deposited, withdrawn, deposited_usd, withdrawn_usd, rewards
FROM {schema}.lenders;

-- Newest known price of every currency of every protocol.
-- name: prices
SELECT protocol, ticker, price, time FROM {schema}.prices_current;

-- Observations in the order they were made.
-- name: feeds
SELECT oracle, feeder, time_ns, prices FROM {schema}.price_feeds ORDER BY height, tx, message, inner_message;

-- Proposals that have not ended, with who voted on each.
-- name: living_proposals
SELECT p.id, p.proposer, p.messages, p.status, p.submitted_at, p.voting_at,
    coalesce((SELECT array_agg(v.voter) FROM {schema}.votes v WHERE v.proposal = p.id), '{}') AS voters
FROM {schema}.proposals p WHERE p.ended_at IS NULL;

-- Lets one writer at a time hold an index, for as long as its connection lives.
-- name: claim
SELECT pg_try_advisory_lock(hashtextextended(%s, 0));

-- The committed cursor, held until the batch ends; a rebuild that swaps schemas waits here, and is waited for.
-- name: hold_cursor
SELECT height, generation FROM {schema}.cursor FOR UPDATE;

-- Raw blocks after a height, in order.
-- name: raw_after
SELECT height, content FROM {schema}.raw_blocks WHERE height > %s ORDER BY height LIMIT %s;

-- What was read from the chain besides blocks, for a range of heights.
-- name: recorded_lookups
SELECT height, kind, content FROM {schema}.lookups WHERE height BETWEEN %s AND %s;

-- Takes over what was already delivered, so that nobody is notified twice.
-- name: carry_outbox
UPDATE {next}.outbox n SET delivered_at = o.delivered_at, attempts = o.attempts, next_attempt_at = o.next_attempt_at
FROM {schema}.outbox o WHERE (o.lease, o.kind, o.height) = (n.lease, n.kind, n.height);

-- Marks the rebuilt index as a new generation.
-- name: next_generation
UPDATE {next}.cursor SET generation = (SELECT generation + 1 FROM {schema}.cursor);

-- A table and its partitions.
-- name: with_partitions
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
WHERE n.nspname = %s AND c.relkind IN ('r', 'p')
    AND (c.relname = %s OR i.inhparent = (%s || '.' || %s)::regclass);

-- Things in quarantine, oldest first.
-- name: quarantined
SELECT height, tx, part, ordinal, reason, bytes, time FROM {schema}.quarantine
WHERE resolved_at IS NULL ORDER BY height, tx, part, ordinal LIMIT %s;

-- How many things are in quarantine.
-- name: quarantine_size
SELECT count(*) FROM {schema}.quarantine WHERE resolved_at IS NULL;

-- The last height before an instant.
-- name: height_before
WITH RECURSIVE search AS (
    SELECT first_height AS low, height + 1 AS high FROM {schema}.cursor
    UNION ALL
    SELECT CASE WHEN b.time < %s THEN b.height + 1 ELSE s.low END,
        CASE WHEN b.time < %s THEN s.high ELSE b.height END
    FROM search s JOIN {schema}.blocks b ON b.height = (s.low + s.high) / 2
    WHERE s.low < s.high
)
SELECT max(s.low - 1) FROM search s, {schema}.cursor c WHERE s.low >= s.high AND s.low > c.first_height;

-- First height whose raw block is kept.
-- name: first_raw
SELECT min(height) FROM {schema}.raw_blocks;

-- Upper bounds of the partitions of a table: name and first height that is no longer in it.
-- name: partition_ends
SELECT c.relname, (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'TO \(''?(\d+)''?\)'))[1]::bigint
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = (%s || '.' || %s)::regclass;

-- The newest hours, and as many others from anywhere in the history.
-- name: sampled_hours
SELECT hour, height, treasury FROM (
    (SELECT * FROM {schema}.hours ORDER BY hour DESC LIMIT %s)
    UNION (SELECT * FROM {schema}.hours ORDER BY md5(hour::text) LIMIT %s)
) sampled ORDER BY hour;

-- Some positions of an hour.
-- name: sampled_position_hours
SELECT lease, protocol, asset, amount, principal, overdue_margin, overdue_interest, due_margin, due_interest, asset_price
FROM {schema}.position_hours WHERE hour = %s ORDER BY md5(lease) LIMIT %s;

-- All pools of an hour.
-- name: sampled_pool_hours
SELECT pool, protocol, balance, principal, interest, receipts, lpn_price FROM {schema}.pool_hours WHERE hour = %s;
