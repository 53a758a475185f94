"""The oracle of a sub-protocol: feeds, the swap tree, prices and price alarms."""

from leasehold.devnet.contracts.oracle.contract import Oracle

__all__ = ["Oracle"]
