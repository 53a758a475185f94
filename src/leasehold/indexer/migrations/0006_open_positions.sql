-- The open positions of an account, for figures that only they have.
CREATE INDEX positions_open_by_owner ON positions (owner) INCLUDE (lease) WHERE status = 'open';
