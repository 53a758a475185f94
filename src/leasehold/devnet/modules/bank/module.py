"""bank: balances, supply, sends, denom metadata."""

from __future__ import annotations

from leasehold.devnet.modules.bank.messages import Messages
from leasehold.devnet.modules.bank.queries import Queries


class Bank(Messages, Queries):
    """Balances."""
