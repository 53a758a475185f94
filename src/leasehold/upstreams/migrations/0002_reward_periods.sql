-- Where the last rewarded period of a lease ended.
CREATE INDEX rewards_by_lease ON rewards (lease, period_end);
