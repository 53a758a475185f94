-- What the chain said: blocks, transactions, messages, contract events, and the raw bytes everything else is made from.
-- Amounts are exact integers in base units, times are block times. Partitioned tables get their partitions from the
-- indexer, a million heights each.

CREATE TABLE cursor (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    chain_id text NOT NULL,
    first_height bigint NOT NULL,
    height bigint NOT NULL,
    hash bytea NOT NULL,
    time timestamptz NOT NULL,
    time_ns bigint NOT NULL,
    blocks bigint NOT NULL,
    txs bigint NOT NULL,
    events bigint NOT NULL,
    quarantined bigint NOT NULL
);

CREATE TABLE blocks (
    height bigint NOT NULL,
    hash bytea NOT NULL,
    time timestamptz NOT NULL,
    proposer bytea NOT NULL,
    tx_count integer NOT NULL,
    event_count integer NOT NULL,
    PRIMARY KEY (height)
) PARTITION BY RANGE (height);
-- Block of an instant, for `to` of /api/txs.
CREATE INDEX blocks_by_time ON blocks USING brin (time);

-- Transactions and results of a height as the node sent them, compressed: the source of every rebuild.
CREATE TABLE raw_blocks (
    height bigint NOT NULL,
    content bytea STORAGE EXTERNAL NOT NULL,
    PRIMARY KEY (height)
) PARTITION BY RANGE (height);

CREATE TABLE txs (
    height bigint NOT NULL,
    tx integer NOT NULL,
    hash bytea NOT NULL,
    code integer NOT NULL,
    gas_wanted bigint NOT NULL,
    gas_used bigint NOT NULL,
    fee_amount numeric NOT NULL,
    fee_denom text,
    memo text NOT NULL,
    time timestamptz NOT NULL,
    PRIMARY KEY (height, tx)
) PARTITION BY RANGE (height);

-- One row per message that concerns accounts; `inner_message` counts those nested in an authz execution from 1.
CREATE TABLE messages (
    height bigint NOT NULL,
    tx integer NOT NULL,
    message smallint NOT NULL,
    inner_message smallint NOT NULL,
    type text NOT NULL,
    sender text NOT NULL,
    receiver text NOT NULL,
    value bytea NOT NULL,
    rewards text,
    PRIMARY KEY (height, tx, message, inner_message)
) PARTITION BY RANGE (height);

-- One row per account a message involves; kind: 1 transfer, 2 staking, 3 vote, 4 earn, 5 position, 6 other contract call.
CREATE TABLE account_messages (
    address text NOT NULL,
    kind smallint NOT NULL,
    height bigint NOT NULL,
    tx integer NOT NULL,
    message smallint NOT NULL,
    inner_message smallint NOT NULL,
    PRIMARY KEY (address, kind, height, tx, message, inner_message)
) PARTITION BY RANGE (height);

-- Contract events; `tx` is -1 for events of the block itself.
CREATE TABLE events (
    height bigint NOT NULL,
    tx integer NOT NULL,
    event integer NOT NULL,
    type text NOT NULL,
    contract text NOT NULL,
    attributes json NOT NULL,
    PRIMARY KEY (height, tx, event)
) PARTITION BY RANGE (height);

-- What could not be understood: its place, bytes and reason. `part` is tx, message or event.
CREATE TABLE quarantine (
    height bigint NOT NULL,
    tx integer NOT NULL,
    part text NOT NULL,
    ordinal integer NOT NULL,
    reason text NOT NULL,
    bytes bytea NOT NULL,
    time timestamptz NOT NULL,
    resolved_at timestamptz,
    PRIMARY KEY (height, tx, part, ordinal)
);

-- What changed at a height, by topic and key, in order; the stream that subscribers resume from.
CREATE TABLE change_log (
    height bigint NOT NULL,
    ordinal integer NOT NULL,
    topic text NOT NULL,
    key text NOT NULL,
    payload json NOT NULL,
    PRIMARY KEY (height, ordinal)
) PARTITION BY RANGE (height);

-- Notifications to send once each, written with the block that caused them.
CREATE TABLE outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    lease text NOT NULL,
    kind text NOT NULL,
    height bigint NOT NULL,
    owner text NOT NULL,
    payload json NOT NULL,
    time timestamptz NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    delivered_at timestamptz,
    UNIQUE (lease, kind, height)
);
CREATE INDEX outbox_due ON outbox (next_attempt_at) WHERE delivered_at IS NULL;
