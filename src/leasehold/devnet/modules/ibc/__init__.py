"""ibc: what this chain is connected to, as relayers and wallets read it."""

from leasehold.devnet.modules.ibc.module import Ibc

__all__ = ["Ibc"]
