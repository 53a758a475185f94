"""The lease: a position bought with a down-payment and a loan, through every step of its life."""

from leasehold.devnet.contracts.lease.contract import Lease

__all__ = ["Lease"]
