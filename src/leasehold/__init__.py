"""Leasehold: the backend of a lease-lending and staking protocol on a Cosmos chain."""

__version__ = "0.1.0"
