"""Control over a development chain: time, blocks, balances, prices, snapshots and faults, for people and for tests."""
