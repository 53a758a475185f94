"""A validator's tokens and the shares its delegators hold of them."""

from __future__ import annotations

from typing import Any

from leasehold.core import fixed_point
from leasehold.core.fixed_point import ONE

POWER_REDUCTION = 1_000_000

UNBONDED, UNBONDING, BONDED = 1, 2, 3


def potential_power(validator: Any) -> int:
    """Voting power the tokens are worth, bonded or not."""
    return int(validator.tokens) // POWER_REDUCTION


def consensus_power(validator: Any) -> int:
    """Voting power in effect: none unless bonded."""
    return potential_power(validator) if validator.status == BONDED else 0


def exchange_rate_invalid(validator: Any) -> bool:
    """Whether a slash took everything while shares are left."""
    return int(validator.tokens) == 0 and int(validator.delegator_shares) > 0


def tokens_from_shares(validator: Any, shares: int) -> int:
    """Scaled tokens that scaled shares are worth, rounded half to even."""
    return fixed_point.divide(shares * int(validator.tokens), int(validator.delegator_shares))


def tokens_from_shares_truncated(validator: Any, shares: int) -> int:
    return fixed_point.divide_truncated(shares * int(validator.tokens), int(validator.delegator_shares))


def shares_from_tokens(validator: Any, amount: int) -> int:
    """Scaled shares that an amount of tokens buys, truncated."""
    return int(validator.delegator_shares) * amount // int(validator.tokens)


def add_tokens(validator: Any, amount: int) -> int:
    """Take tokens in and return the scaled shares issued for them."""
    total = int(validator.delegator_shares)
    issued = amount * ONE if total == 0 else shares_from_tokens(validator, amount)
    validator.tokens = str(int(validator.tokens) + amount)
    validator.delegator_shares = str(total + issued)
    return issued


def remove_shares(validator: Any, shares: int) -> int:
    """Cancel scaled shares and return the tokens they release; the last shares take all that is left."""
    rest = int(validator.delegator_shares) - shares
    tokens = int(validator.tokens)
    issued = tokens if rest == 0 else fixed_point.truncate(tokens_from_shares(validator, shares))
    validator.tokens = str(tokens - issued)
    validator.delegator_shares = str(rest)
    return issued
