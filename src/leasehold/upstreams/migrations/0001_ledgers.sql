-- The upstreams' ledgers. Amounts are exact integers in base units; instants are UTC.

CREATE TABLE referrers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    wallet text NOT NULL UNIQUE,
    code text NOT NULL UNIQUE,
    tier text NOT NULL DEFAULT 'general' CHECK (tier IN ('general', 'premium')),
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
    created_at timestamptz NOT NULL
);

-- A referred wallet; only what is indexed above `from_height` earns its referrer anything.
CREATE TABLE referrals (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    referrer_id bigint NOT NULL REFERENCES referrers,
    wallet text NOT NULL UNIQUE,
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'inactive')),
    from_height bigint NOT NULL,
    assigned_at timestamptz NOT NULL
);
CREATE INDEX referrals_by_referrer ON referrals (referrer_id, id);

-- How far a reader of the index has come: everything at or below `height` is accounted for.
CREATE TABLE cursors (
    name text PRIMARY KEY,
    height bigint NOT NULL
);
INSERT INTO cursors VALUES ('rewards', 0), ('payments', 0);

-- Money that leaves the service: a referrer's payout or an owner's refunded interest.
CREATE TABLE disbursements (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    purpose text NOT NULL CHECK (purpose IN ('payout', 'refund')),
    referrer_id bigint REFERENCES referrers,
    recipient text NOT NULL,
    amount numeric NOT NULL CHECK (amount > 0),
    denom text NOT NULL,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'submitted', 'confirmed', 'failed')),
    tx bytea,
    tx_hash text,
    timeout_height bigint,
    failure text,
    created_at timestamptz NOT NULL,
    submitted_at timestamptz,
    executed_at timestamptz
);
CREATE INDEX disbursements_by_referrer ON disbursements (referrer_id, id) WHERE purpose = 'payout';
CREATE INDEX disbursements_open ON disbursements (status, id) WHERE status IN ('pending', 'submitted');

-- One row per indexed event that earned something; kind: bonus (a lease was opened), interest (a payment held some).
CREATE TABLE rewards (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    referrer_id bigint NOT NULL REFERENCES referrers,
    referral_id bigint NOT NULL REFERENCES referrals,
    kind text NOT NULL CHECK (kind IN ('bonus', 'interest')),
    height bigint NOT NULL,
    tx integer NOT NULL,
    event integer NOT NULL,
    lease text NOT NULL,
    period_start timestamptz NOT NULL,
    period_end timestamptz NOT NULL,
    interest numeric NOT NULL,
    interest_ticker text NOT NULL,
    amount numeric NOT NULL CHECK (amount > 0),
    denom text NOT NULL,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'included', 'paid')),
    payout_id bigint REFERENCES disbursements,
    created_at timestamptz NOT NULL,
    UNIQUE (height, tx, event)
);
CREATE INDEX rewards_by_referrer ON rewards (referrer_id, id);
CREATE INDEX rewards_unpaid ON rewards (referrer_id) WHERE status = 'pending';
CREATE INDEX rewards_by_payout ON rewards (payout_id) WHERE payout_id IS NOT NULL;

CREATE TABLE campaigns (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    active boolean NOT NULL DEFAULT true,
    protocols text[] NOT NULL DEFAULT '{}',
    currencies text[] NOT NULL DEFAULT '{}',
    wallets text[] NOT NULL DEFAULT '{}',
    start_date timestamptz,
    end_date timestamptz,
    description text
);

CREATE TABLE payment_terms (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    enabled boolean NOT NULL,
    max_payment_amount numeric NOT NULL,
    min_lease_value numeric NOT NULL,
    max_active_payments integer NOT NULL,
    -- Empty: the lent currencies of every protocol.
    supported_denoms text[] NOT NULL
);
INSERT INTO payment_terms VALUES (true, true, 1000000000, 50, 3, '{}');

-- A repayment its owner announced; the interest inside it is given back once the index shows it.
CREATE TABLE payments (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    lease text NOT NULL,
    owner text NOT NULL,
    amount numeric NOT NULL CHECK (amount > 0),
    denom text NOT NULL,
    ticker text NOT NULL,
    signature text NOT NULL,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'completed', 'failed', 'cancelled')),
    from_height bigint NOT NULL,
    payment_date date NOT NULL,
    refund_id bigint REFERENCES disbursements,
    created_at timestamptz NOT NULL,
    finished_at timestamptz
);
CREATE INDEX payments_by_owner ON payments (owner, id);
CREATE INDEX payments_by_lease ON payments (lease, id);
CREATE INDEX payments_pending ON payments (lease) WHERE status = 'pending';

-- Transactions whose way to the end is followed; `status` is the last answer given about it.
CREATE TABLE tracked_swaps (
    chain_id text NOT NULL,
    tx_hash text NOT NULL,
    state text NOT NULL,
    status json NOT NULL,
    created_at timestamptz NOT NULL,
    finished_at timestamptz,
    PRIMARY KEY (chain_id, tx_hash)
);
CREATE INDEX tracked_swaps_open ON tracked_swaps (created_at) WHERE finished_at IS NULL;

CREATE TABLE svm_genesis (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    seed bytea NOT NULL,
    started_at timestamptz NOT NULL
);

CREATE TABLE svm_accounts (
    address text PRIMARY KEY,
    lamports numeric NOT NULL CHECK (lamports >= 0)
);

CREATE TABLE svm_mints (
    mint text PRIMARY KEY,
    decimals smallint NOT NULL,
    supply numeric NOT NULL DEFAULT 0 CHECK (supply >= 0)
);

CREATE TABLE svm_token_accounts (
    address text PRIMARY KEY,
    owner text NOT NULL,
    mint text NOT NULL,
    amount numeric NOT NULL DEFAULT 0 CHECK (amount >= 0)
);
CREATE INDEX svm_token_accounts_by_owner ON svm_token_accounts (owner, mint);

CREATE TABLE svm_transactions (
    signature text PRIMARY KEY,
    slot bigint NOT NULL,
    error json,
    logs text[] NOT NULL,
    content bytea NOT NULL
);

-- Coins on their way to the chain; state: committed, acknowledged, refunded.
CREATE TABLE svm_packets (
    channel integer NOT NULL,
    sequence bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('source', 'sink')),
    sender text NOT NULL,
    token_account text NOT NULL,
    mint text NOT NULL,
    amount numeric NOT NULL,
    receiver text NOT NULL,
    memo text NOT NULL,
    timeout_revision bigint NOT NULL,
    timeout_height bigint NOT NULL,
    timeout_ns bigint NOT NULL,
    slot bigint NOT NULL,
    state text NOT NULL DEFAULT 'committed' CHECK (state IN ('committed', 'acknowledged', 'refunded')),
    PRIMARY KEY (channel, sequence)
);
CREATE INDEX svm_packets_open ON svm_packets (slot) WHERE state = 'committed';
