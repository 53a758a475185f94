"""Scenarios that come with Leasehold; their format is told in `leasehold.devnet.market.scenario`."""
