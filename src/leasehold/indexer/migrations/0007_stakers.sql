-- Staking rewards an account took: base units of the native token, and USD at the time of each withdrawal.
CREATE TABLE stakers (
    address text PRIMARY KEY,
    withdrawals integer NOT NULL DEFAULT 0,
    rewards numeric NOT NULL DEFAULT 0,
    rewards_usd numeric NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL
);
INSERT INTO stakers
    SELECT delegator, count(*), sum(amount), coalesce(sum(usd), 0), max(time)
    FROM staking_activity WHERE kind = 'withdraw' GROUP BY delegator;
