-- Everything the store creates once.
-- name: schema
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blocks (
  height INTEGER PRIMARY KEY, hash BLOB NOT NULL, parts_total INTEGER NOT NULL, parts_hash BLOB NOT NULL,
  block BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS blocks_by_hash ON blocks (hash);
CREATE TABLE IF NOT EXISTS results (
  height INTEGER PRIMARY KEY, app_hash BLOB NOT NULL, params_before INTEGER NOT NULL, params_after INTEGER NOT NULL,
  updates BLOB
);
CREATE TABLE IF NOT EXISTS interned (
  id INTEGER PRIMARY KEY, kind TEXT NOT NULL, value BLOB NOT NULL, UNIQUE (kind, value)
);
CREATE TABLE IF NOT EXISTS validators (
  height INTEGER PRIMARY KEY, members INTEGER NOT NULL, priorities BLOB NOT NULL, proposer INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS block_index (height INTEGER PRIMARY KEY, tags INTEGER NOT NULL, events BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS block_index_by_tags ON block_index (tags);
CREATE TABLE IF NOT EXISTS txs (
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL, failed INTEGER NOT NULL, tags INTEGER NOT NULL, tx BLOB NOT NULL,
  result BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS txs_by_hash ON txs (hash);
CREATE INDEX IF NOT EXISTS txs_by_tags ON txs (tags, id);
CREATE TABLE IF NOT EXISTS tx_pairs (pair INTEGER NOT NULL, tx INTEGER NOT NULL, PRIMARY KEY (pair, tx)) WITHOUT ROWID;

-- Highest block kept.
-- name: last_height
SELECT max(height) FROM blocks;

-- Lowest block kept.
-- name: first_height
SELECT min(height) FROM blocks;

-- A stored fact about the chain.
-- name: read_meta
SELECT value FROM meta WHERE name = ?;

-- Keep a fact about the chain.
-- name: write_meta
INSERT OR REPLACE INTO meta VALUES (?, ?);

-- Add a block.
-- name: add_block
INSERT INTO blocks VALUES (?, ?, ?, ?, ?);

-- Add the results of a block.
-- name: add_results
INSERT INTO results VALUES (?, ?, ?, ?, ?);

-- Add the events of a block.
-- name: add_block_index
INSERT INTO block_index VALUES (?, ?, ?);

-- Add the validator set of a height.
-- name: add_validators
INSERT OR REPLACE INTO validators VALUES (?, ?, ?, ?);

-- Add transactions with their results.
-- name: add_txs
INSERT INTO txs VALUES (?, ?, ?, ?, ?, ?);

-- Add what finds transactions by one attribute.
-- name: add_pairs
INSERT OR IGNORE INTO tx_pairs VALUES (?, ?);

-- Forget what finds a transaction by one attribute.
-- name: remove_pairs
DELETE FROM tx_pairs WHERE pair = ? AND tx = ?;

-- Results of the transactions from a place on.
-- name: results_from
SELECT id, result FROM txs WHERE id >= ?;

-- Identity of an interned value.
-- name: interned_id
SELECT id FROM interned WHERE kind = ? AND value = ?;

-- Intern a value.
-- name: intern
INSERT INTO interned (kind, value) VALUES (?, ?);

-- An interned value.
-- name: interned_value
SELECT value FROM interned WHERE id = ?;

-- A block with its identity.
-- name: block
SELECT hash, parts_total, parts_hash, block FROM blocks WHERE height = ?;

-- Height of the block with a hash.
-- name: height_of_hash
SELECT height FROM blocks WHERE hash = ?;

-- Results of a block without those of its transactions.
-- name: results
SELECT app_hash, params_before, params_after, updates FROM results WHERE height = ?;

-- Events of a block.
-- name: block_events
SELECT events FROM block_index WHERE height = ?;

-- Results of the transactions of a block, in order.
-- name: tx_results
SELECT result FROM txs WHERE id BETWEEN ? AND ? ORDER BY id;

-- Validator set of a height.
-- name: validators
SELECT members, priorities, proposer FROM validators WHERE height = ?;

-- The transaction with a hash: one that succeeded before one that failed, then the newest.
-- name: tx_by_hash
SELECT id, tx, result FROM txs WHERE hash = ? ORDER BY failed, id DESC LIMIT 1;

-- A transaction by its place in the chain.
-- name: tx_by_id
SELECT id, tx, result FROM txs WHERE id = ?;

-- Forget blocks below a height; what was indexed stays.
-- name: prune
DELETE FROM blocks WHERE height < :height;
DELETE FROM results WHERE height < :height;
DELETE FROM validators WHERE height < :height;

-- Forget everything after a height; `tx` is the place of the first transaction after it.
-- name: revert
DELETE FROM blocks WHERE height > :height;
DELETE FROM results WHERE height > :height;
DELETE FROM block_index WHERE height > :height;
DELETE FROM txs WHERE id >= :tx;
DELETE FROM validators WHERE height > :height + 2;

-- Transactions with an attribute value, within a span.
-- name: txs_with_pair
SELECT tx FROM tx_pairs WHERE pair = ? AND tx BETWEEN ? AND ?;

-- Transactions within a span.
-- name: txs_between
SELECT id FROM txs WHERE id BETWEEN ? AND ?;

-- Transactions with a set of tags, within a span.
-- name: txs_with_tags
SELECT id FROM txs WHERE tags = ? AND id BETWEEN ? AND ?;

-- Every interned value of a kind.
-- name: interned_values
SELECT id, value FROM interned WHERE kind = ?;

-- Indexed blocks within a span.
-- name: blocks_between
SELECT height FROM block_index WHERE height BETWEEN ? AND ?;

-- Blocks with a set of tags, within a span, with their events.
-- name: blocks_with_tags
SELECT height, events FROM block_index WHERE tags = ? AND height BETWEEN ? AND ?;
