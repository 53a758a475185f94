-- Web Push: who wants to hear about which account, what was promised to whom, and the key that signs it.

CREATE TABLE subscriptions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    address text NOT NULL,
    endpoint text NOT NULL,
    p256dh text NOT NULL,
    auth text NOT NULL,
    expires_at timestamptz,
    active boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (address, auth)
);
-- A browser has one auth secret, whichever account it follows.
CREATE INDEX subscriptions_by_auth ON subscriptions (auth);
CREATE INDEX subscriptions_by_endpoint ON subscriptions (endpoint);

-- One message to one browser. state: waiting, sending, sent, refused, uncertain, expired.
CREATE TABLE deliveries (
    message bigint NOT NULL,
    subscription bigint NOT NULL REFERENCES subscriptions (id) ON DELETE CASCADE,
    state text NOT NULL DEFAULT 'waiting',
    payload json NOT NULL,
    expires_at timestamptz NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (message, subscription)
);
CREATE INDEX deliveries_due ON deliveries (next_attempt_at) WHERE state = 'waiting';

-- The VAPID key of this deployment where the settings name none: browsers subscribe to its public half.
CREATE TABLE vapid (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    private_key text NOT NULL
);
