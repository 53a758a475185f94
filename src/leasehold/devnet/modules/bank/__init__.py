"""bank: what everybody holds."""

from leasehold.devnet.modules.bank.module import Bank

__all__ = ["Bank"]
