-- Begins the chain, once.
-- name: begin
INSERT INTO upstreams.svm_genesis (seed, started_at) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- How the chain began.
-- name: genesis
SELECT seed, started_at FROM upstreams.svm_genesis;

-- Makes this transaction the only one that changes the ledger.
-- name: lock
SELECT FROM upstreams.svm_genesis FOR UPDATE;

-- Lamports of an account.
-- name: lamports
SELECT lamports FROM upstreams.svm_accounts WHERE address = $1;

-- Adds lamports to an account.
-- name: credit
INSERT INTO upstreams.svm_accounts (address, lamports) VALUES ($1, $2)
ON CONFLICT (address) DO UPDATE SET lamports = upstreams.svm_accounts.lamports + excluded.lamports;

-- Takes lamports from an account that has them.
-- name: debit
UPDATE upstreams.svm_accounts SET lamports = lamports - $2 WHERE address = $1 AND lamports >= $2 RETURNING lamports;

-- A mint.
-- name: mint
SELECT mint, decimals, supply FROM upstreams.svm_mints WHERE mint = $1;

-- A new mint; one that exists stays as it is.
-- name: add_mint
INSERT INTO upstreams.svm_mints (mint, decimals) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- Changes what there is of a mint.
-- name: change_supply
UPDATE upstreams.svm_mints SET supply = supply + $2 WHERE mint = $1;

-- A token account.
-- name: token_account
SELECT t.address, t.owner, t.mint, t.amount, m.decimals
FROM upstreams.svm_token_accounts t JOIN upstreams.svm_mints m USING (mint) WHERE t.address = $1;

-- Token accounts of an owner, of one mint where given.
-- name: token_accounts
SELECT t.address, t.owner, t.mint, t.amount, m.decimals
FROM upstreams.svm_token_accounts t JOIN upstreams.svm_mints m USING (mint)
WHERE t.owner = $1 AND ($2::text IS NULL OR t.mint = $2) ORDER BY t.address LIMIT 1000;

-- A new token account; nothing where it exists.
-- name: add_token_account
INSERT INTO upstreams.svm_token_accounts (address, owner, mint) VALUES ($1, $2, $3)
ON CONFLICT DO NOTHING RETURNING address;

-- Changes what a token account holds; nothing where it holds too little.
-- name: change_tokens
UPDATE upstreams.svm_token_accounts SET amount = amount + $2 WHERE address = $1 AND amount + $2 >= 0 RETURNING amount;

-- A transaction that was carried out; nothing where it was before.
-- name: add_transaction
INSERT INTO upstreams.svm_transactions (signature, slot, error, logs, content) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT DO NOTHING RETURNING signature;

-- A transaction.
-- name: transaction
SELECT signature, slot, error, logs, content FROM upstreams.svm_transactions WHERE signature = $1;

-- How many transactions there are.
-- name: count_transactions
SELECT count(*) FROM upstreams.svm_transactions;

-- Sequence of the next packet on a channel.
-- name: next_sequence
SELECT coalesce(max(sequence), 0) + 1 FROM upstreams.svm_packets WHERE channel = $1;

-- A packet on its way.
-- name: add_packet
INSERT INTO upstreams.svm_packets (channel, sequence, kind, sender, token_account, mint, amount, receiver, memo,
    timeout_revision, timeout_height, timeout_ns, slot)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13);

-- Packets without an outcome that were sent up to a slot.
-- name: due_packets
SELECT * FROM upstreams.svm_packets WHERE state = 'committed' AND slot <= $1 ORDER BY slot, channel, sequence LIMIT 100;

-- Gives a packet its outcome.
-- name: end_packet
UPDATE upstreams.svm_packets SET state = $3 WHERE channel = $1 AND sequence = $2 AND state = 'committed'
RETURNING sequence;

-- Channels that packets went over.
-- name: channels
SELECT DISTINCT channel FROM upstreams.svm_packets ORDER BY channel;

-- The newest packets of a channel with their states, oldest first.
-- name: packets
SELECT sequence, state FROM (
    SELECT sequence, state FROM upstreams.svm_packets
    WHERE channel = $1 AND (state = 'committed') = $2 ORDER BY sequence DESC LIMIT 1000
) newest ORDER BY sequence;
