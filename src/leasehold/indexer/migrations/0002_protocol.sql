-- What the events mean: protocols, positions, pools, prices, treasury. USD figures are fixed at the event's height.

CREATE TABLE protocols (
    name text PRIMARY KEY,
    network text,
    dex text,
    position_type text NOT NULL,
    lpn text NOT NULL,
    stable text NOT NULL,
    label text NOT NULL,
    leaser text,
    lpp text,
    oracle text,
    profit text,
    reserve text,
    is_active boolean NOT NULL,
    first_seen_at timestamptz NOT NULL,
    deprecated_at timestamptz,
    config json NOT NULL
);

CREATE TABLE platform (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    admin text NOT NULL,
    treasury text NOT NULL,
    timealarms text NOT NULL
);

CREATE TABLE currencies (
    ticker text PRIMARY KEY,
    decimals smallint NOT NULL,
    is_active boolean NOT NULL,
    first_seen_at timestamptz NOT NULL,
    deprecated_at timestamptz
);

CREATE TABLE currency_protocols (
    ticker text NOT NULL,
    protocol text NOT NULL,
    "group" text NOT NULL,
    bank_symbol text NOT NULL,
    dex_symbol text NOT NULL,
    decimals smallint NOT NULL,
    PRIMARY KEY (ticker, protocol)
);

-- Coins of the contracts whose money is followed (pools, reserves, profits, treasury).
CREATE TABLE balances (
    address text NOT NULL,
    denom text NOT NULL,
    amount numeric NOT NULL,
    PRIMARY KEY (address, denom)
);

-- Running totals of a pool's loans and receipts at `updated_ns`; the average rate is annual / rate_of.
CREATE TABLE pools (
    pool text PRIMARY KEY,
    protocol text NOT NULL,
    principal numeric NOT NULL,
    interest numeric NOT NULL,
    annual numeric NOT NULL,
    rate_of numeric NOT NULL,
    updated_ns bigint NOT NULL,
    receipts numeric NOT NULL,
    newest_rate integer NOT NULL,
    updated_at timestamptz NOT NULL
);

-- One row per lease with what it was opened with, where it stands and what went through it.
CREATE TABLE positions (
    lease text PRIMARY KEY,
    protocol text NOT NULL,
    pool text NOT NULL,
    owner text NOT NULL,
    position_type text NOT NULL,
    asset text NOT NULL,
    lpn text NOT NULL,
    status text NOT NULL,
    requested_at timestamptz NOT NULL,
    requested_ns bigint NOT NULL,
    requested_height bigint NOT NULL,
    requested_tx bytea NOT NULL,
    opened_at timestamptz,
    opened_height bigint,
    opened_tx bytea,
    downpayment numeric,
    downpayment_ticker text,
    downpayment_usd numeric,
    downpayment_price numeric,
    loan numeric NOT NULL,
    loan_usd numeric,
    opened_amount numeric,
    amount_is_exact boolean NOT NULL DEFAULT true,
    opened_asset_price numeric,
    opened_lpn_price numeric,
    opened_lpn_amount numeric,
    opened_liquidation_price numeric,
    fee numeric,
    annual_rate integer,
    loan_rate integer NOT NULL,
    margin_rate integer NOT NULL,
    due_period_ns bigint NOT NULL,
    max_ltv integer NOT NULL,
    amount numeric NOT NULL,
    principal numeric NOT NULL,
    interest_paid_ns bigint NOT NULL,
    margin_paid_ns bigint NOT NULL,
    change numeric NOT NULL DEFAULT 0,
    repayments integer NOT NULL DEFAULT 0,
    repaid_usd numeric NOT NULL DEFAULT 0,
    market_closes integer NOT NULL DEFAULT 0,
    closed_usd numeric NOT NULL DEFAULT 0,
    liquidations integer NOT NULL DEFAULT 0,
    liquidated_usd numeric NOT NULL DEFAULT 0,
    last_repaid_at timestamptz,
    last_liquidated_at timestamptz,
    close_kind text,
    close_strategy text,
    close_strategy_ltv integer,
    close_tx bytea,
    closed_at timestamptz,
    closed_height bigint,
    finished_at timestamptz,
    collected json,
    collected_usd numeric,
    realized_pnl_usd numeric,
    updated_at timestamptz NOT NULL,
    updated_height bigint NOT NULL
);
-- The positions of an account, newest first.
CREATE INDEX positions_by_owner ON positions (owner, opened_at DESC, lease);
-- The closings of an account, newest first.
CREATE INDEX positions_closed_by_owner ON positions (owner, closed_at DESC) WHERE closed_at IS NOT NULL;
-- Rows changed since an instant, for the historic routes.
CREATE INDEX positions_by_change ON positions (updated_at DESC);
-- What the indexer loads at start.
CREATE INDEX positions_living ON positions (lease) WHERE status IN ('opening', 'open', 'closing');

-- Money that went through a position. kind: open, repay, market-close, liquidation, finish.
CREATE TABLE position_events (
    height bigint NOT NULL,
    tx integer NOT NULL,
    event integer NOT NULL,
    lease text NOT NULL,
    owner text NOT NULL,
    protocol text NOT NULL,
    kind text NOT NULL,
    time timestamptz NOT NULL,
    tx_hash bytea NOT NULL,
    payment numeric,
    payment_ticker text,
    payment_usd numeric,
    sold numeric,
    sold_ticker text,
    sold_usd numeric,
    overdue_margin numeric NOT NULL DEFAULT 0,
    overdue_interest numeric NOT NULL DEFAULT 0,
    due_margin numeric NOT NULL DEFAULT 0,
    due_interest numeric NOT NULL DEFAULT 0,
    principal numeric NOT NULL DEFAULT 0,
    change numeric NOT NULL DEFAULT 0,
    interest_usd numeric,
    margin_usd numeric,
    principal_usd numeric,
    loan_close boolean NOT NULL DEFAULT false,
    cause text,
    asset_price numeric,
    lpn_price numeric,
    principal_after numeric NOT NULL,
    amount_after numeric NOT NULL,
    debt_after_usd numeric,
    liquidation_price_after numeric,
    PRIMARY KEY (height, tx, event)
);
-- History of one position.
CREATE INDEX position_events_by_lease ON position_events (lease, height, tx, event);
-- Liquidations and interest, newest first.
CREATE INDEX position_events_by_kind ON position_events (kind, time DESC);

-- Warnings, refused swaps and automatic closes. kind: warning, slippage, auto-close.
CREATE TABLE lease_signals (
    height bigint NOT NULL,
    tx integer NOT NULL,
    event integer NOT NULL,
    lease text NOT NULL,
    owner text NOT NULL,
    kind text NOT NULL,
    asset text,
    level smallint,
    ltv integer,
    strategy text,
    time timestamptz NOT NULL,
    tx_hash bytea NOT NULL,
    PRIMARY KEY (height, tx, event)
);

CREATE TABLE reserve_covers (
    height bigint NOT NULL,
    tx integer NOT NULL,
    event integer NOT NULL,
    lease text NOT NULL,
    protocol text,
    amount numeric NOT NULL,
    ticker text NOT NULL,
    usd numeric,
    time timestamptz NOT NULL,
    tx_hash bytea NOT NULL,
    PRIMARY KEY (height, tx, event)
);

-- Deposits and withdrawals. kind: deposit, withdraw.
CREATE TABLE pool_flows (
    height bigint NOT NULL,
    tx integer NOT NULL,
    event integer NOT NULL,
    kind text NOT NULL,
    pool text NOT NULL,
    protocol text NOT NULL,
    lender text NOT NULL,
    amount numeric NOT NULL,
    ticker text NOT NULL,
    receipts numeric NOT NULL,
    price numeric,
    usd numeric,
    closes boolean NOT NULL,
    time timestamptz NOT NULL,
    tx_hash bytea NOT NULL,
    PRIMARY KEY (height, tx, event)
);
CREATE INDEX pool_flows_by_time ON pool_flows (time DESC);
CREATE INDEX pool_flows_by_tx ON pool_flows (tx_hash) WHERE kind = 'withdraw';

-- A lender in a pool; sums over all time, so that what was earned stays known after leaving.
CREATE TABLE lenders (
    lender text NOT NULL,
    pool text NOT NULL,
    receipts numeric NOT NULL,
    deposited numeric NOT NULL,
    withdrawn numeric NOT NULL,
    deposited_usd numeric NOT NULL,
    withdrawn_usd numeric NOT NULL,
    rewards numeric NOT NULL,
    joined_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (lender, pool)
);
CREATE INDEX lenders_current ON lenders (pool) WHERE receipts > 0;

-- Native tokens into and out of the treasury. kind: profit (bought back), rewards (distributed to a pool).
CREATE TABLE treasury_flows (
    height bigint NOT NULL,
    tx integer NOT NULL,
    event integer NOT NULL,
    kind text NOT NULL,
    protocol text,
    pool text,
    amount numeric NOT NULL,
    price numeric,
    usd numeric,
    time timestamptz NOT NULL,
    tx_hash bytea NOT NULL,
    PRIMARY KEY (height, tx, event)
);
CREATE INDEX treasury_flows_by_kind ON treasury_flows (kind, time);

-- Rewards a lender took out of a pool.
CREATE TABLE reward_claims (
    height bigint NOT NULL,
    tx integer NOT NULL,
    message smallint NOT NULL,
    inner_message smallint NOT NULL,
    lender text NOT NULL,
    pool text NOT NULL,
    amount numeric NOT NULL,
    usd numeric,
    time timestamptz NOT NULL,
    PRIMARY KEY (height, tx, message, inner_message)
);

-- Newest USD price of a whole token, per protocol.
CREATE TABLE prices_current (
    protocol text NOT NULL,
    ticker text NOT NULL,
    price numeric NOT NULL,
    height bigint NOT NULL,
    time timestamptz NOT NULL,
    PRIMARY KEY (protocol, ticker)
);

-- Candles of 1, 5 and 60 minutes; partitioned by month.
CREATE TABLE price_candles (
    protocol text NOT NULL,
    ticker text NOT NULL,
    minutes smallint NOT NULL,
    start timestamptz NOT NULL,
    open numeric NOT NULL,
    high numeric NOT NULL,
    low numeric NOT NULL,
    close numeric NOT NULL,
    points integer NOT NULL,
    PRIMARY KEY (protocol, ticker, minutes, start)
) PARTITION BY RANGE (start);

-- Observations that oracles still average over, so that a restart prices as the chain does.
CREATE TABLE price_feeds (
    oracle text NOT NULL,
    height bigint NOT NULL,
    tx integer NOT NULL,
    message smallint NOT NULL,
    inner_message smallint NOT NULL,
    feeder text NOT NULL,
    time_ns bigint NOT NULL,
    prices json NOT NULL,
    PRIMARY KEY (oracle, height, tx, message, inner_message)
);
CREATE INDEX price_feeds_by_age ON price_feeds (time_ns);

CREATE TABLE proposals (
    id bigint PRIMARY KEY,
    proposer text NOT NULL,
    messages text NOT NULL,
    status text NOT NULL,
    submitted_at timestamptz NOT NULL,
    voting_at timestamptz,
    ended_at timestamptz,
    votes integer NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL
);

CREATE TABLE votes (
    proposal bigint NOT NULL,
    voter text NOT NULL,
    option text NOT NULL,
    height bigint NOT NULL,
    time timestamptz NOT NULL,
    PRIMARY KEY (proposal, voter)
);

-- Delegations, undelegations, redelegations and reward withdrawals of accounts.
CREATE TABLE staking_activity (
    height bigint NOT NULL,
    tx integer NOT NULL,
    message smallint NOT NULL,
    inner_message smallint NOT NULL,
    delegator text NOT NULL,
    kind text NOT NULL,
    validator text NOT NULL,
    source_validator text,
    amount numeric NOT NULL,
    denom text NOT NULL,
    usd numeric,
    time timestamptz NOT NULL,
    tx_hash bytea NOT NULL,
    PRIMARY KEY (height, tx, message, inner_message)
);
CREATE INDEX staking_activity_by_delegator ON staking_activity (delegator, height DESC, tx DESC);

-- Coins sent between accounts. kind: send, ibc-out, ibc-in.
CREATE TABLE transfers (
    height bigint NOT NULL,
    tx integer NOT NULL,
    message smallint NOT NULL,
    inner_message smallint NOT NULL,
    ordinal smallint NOT NULL,
    kind text NOT NULL,
    sender text NOT NULL,
    receiver text NOT NULL,
    amount numeric NOT NULL,
    denom text NOT NULL,
    time timestamptz NOT NULL,
    PRIMARY KEY (height, tx, message, inner_message, ordinal)
);
