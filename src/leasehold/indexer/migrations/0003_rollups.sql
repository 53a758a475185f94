-- Figures maintained as blocks arrive: on the hour, by day and month, by asset, by account and in total.

-- State of everything at the end of an hour: the last block whose time is not after it.
CREATE TABLE hours (
    hour timestamptz PRIMARY KEY,
    height bigint NOT NULL,
    open_positions integer NOT NULL,
    position_usd numeric NOT NULL,
    open_interest_usd numeric NOT NULL,
    unrealized_pnl_usd numeric NOT NULL,
    supplied_usd numeric NOT NULL,
    borrowed_usd numeric NOT NULL,
    tvl_usd numeric NOT NULL,
    treasury numeric NOT NULL,
    treasury_usd numeric
);

CREATE TABLE pool_hours (
    pool text NOT NULL,
    hour timestamptz NOT NULL,
    protocol text NOT NULL,
    is_active boolean NOT NULL,
    balance numeric NOT NULL,
    principal numeric NOT NULL,
    interest numeric NOT NULL,
    receipts numeric NOT NULL,
    lpn_price numeric,
    supplied_usd numeric,
    borrowed_usd numeric,
    utilization numeric NOT NULL,
    borrow_rate integer NOT NULL,
    lending_rate numeric NOT NULL,
    min_utilization integer NOT NULL,
    optimal_utilization integer NOT NULL,
    PRIMARY KEY (pool, hour)
);
-- All pools of an hour.
CREATE INDEX pool_hours_by_hour ON pool_hours (hour DESC);

CREATE TABLE position_hours (
    lease text NOT NULL,
    hour timestamptz NOT NULL,
    owner text NOT NULL,
    protocol text NOT NULL,
    asset text NOT NULL,
    lpn text NOT NULL,
    amount numeric NOT NULL,
    principal numeric NOT NULL,
    overdue_margin numeric NOT NULL,
    overdue_interest numeric NOT NULL,
    due_margin numeric NOT NULL,
    due_interest numeric NOT NULL,
    asset_price numeric,
    lpn_price numeric,
    value_usd numeric,
    debt_usd numeric,
    principal_usd numeric,
    pnl_usd numeric,
    liquidation_price numeric,
    PRIMARY KEY (lease, hour)
) PARTITION BY RANGE (hour);
-- All positions of an hour.
CREATE INDEX position_hours_by_hour ON position_hours (hour);

CREATE TABLE account_hours (
    owner text NOT NULL,
    hour timestamptz NOT NULL,
    position_usd numeric NOT NULL,
    debt_usd numeric NOT NULL,
    PRIMARY KEY (owner, hour)
) PARTITION BY RANGE (hour);

CREATE TABLE days (
    day date PRIMARY KEY,
    openings integer NOT NULL DEFAULT 0,
    opened_usd numeric NOT NULL DEFAULT 0,
    opened_loans_usd numeric NOT NULL DEFAULT 0,
    closed_loans_usd numeric NOT NULL DEFAULT 0,
    repaid_usd numeric NOT NULL DEFAULT 0,
    market_closed_usd numeric NOT NULL DEFAULT 0,
    liquidations integer NOT NULL DEFAULT 0,
    liquidated_usd numeric NOT NULL DEFAULT 0,
    deposited_usd numeric NOT NULL DEFAULT 0,
    withdrawn_usd numeric NOT NULL DEFAULT 0,
    profit numeric NOT NULL DEFAULT 0,
    profit_usd numeric NOT NULL DEFAULT 0,
    rewards numeric NOT NULL DEFAULT 0,
    rewards_usd numeric NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL
);

CREATE TABLE active_wallets (
    month date NOT NULL,
    address text NOT NULL,
    PRIMARY KEY (month, address)
);

CREATE TABLE months (
    month date PRIMARY KEY,
    wallets integer NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL
);

CREATE TABLE asset_totals (
    protocol text NOT NULL,
    asset text NOT NULL,
    openings integer NOT NULL DEFAULT 0,
    loan numeric NOT NULL DEFAULT 0,
    loan_usd numeric NOT NULL DEFAULT 0,
    downpayment_usd numeric NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (protocol, asset)
);

-- Lifetime sums in base units and USD; names: tx_value, profit, rewards, realized_pnl, opened_loans.
CREATE TABLE totals (
    name text PRIMARY KEY,
    amount numeric NOT NULL DEFAULT 0,
    usd numeric NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL
);

-- An account's lease figures; `band_*` count closed positions by profit in percent: <0, 0-50, 50-100, 100-300, >300.
CREATE TABLE accounts (
    address text PRIMARY KEY,
    openings integer NOT NULL DEFAULT 0,
    closings integer NOT NULL DEFAULT 0,
    wins integer NOT NULL DEFAULT 0,
    volume_usd numeric NOT NULL DEFAULT 0,
    realized_pnl_usd numeric NOT NULL DEFAULT 0,
    band_0 integer NOT NULL DEFAULT 0,
    band_1 integer NOT NULL DEFAULT 0,
    band_2 integer NOT NULL DEFAULT 0,
    band_3 integer NOT NULL DEFAULT 0,
    band_4 integer NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL
);
