-- Ways in that the data API needs: what happened to an account's leases, and openings of a window.

CREATE INDEX lease_signals_by_owner ON lease_signals (owner, height DESC, tx DESC, event DESC);
CREATE INDEX positions_by_opening ON positions (opened_at DESC, lease) WHERE opened_at IS NOT NULL;
