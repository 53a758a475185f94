"""Registered errors of the staking module."""

from __future__ import annotations

from leasehold.devnet.app.errors import Kind


def _kind(code: int, description: str) -> Kind:
    return Kind("staking", code, description)


NO_VALIDATOR = _kind(3, "validator does not exist")
OPERATOR_EXISTS = _kind(4, "validator already exist for this operator address; must use new validator operator address")
PUBKEY_EXISTS = _kind(5, "validator already exist for this pubkey; must use new validator pubkey")
PUBKEY_TYPE = _kind(6, "validator pubkey type is not supported")
JAILED = _kind(7, "validator for this address is currently jailed")
COMMISSION_NEGATIVE = _kind(9, "commission must be positive")
COMMISSION_HUGE = _kind(10, "commission cannot be more than 100%")
COMMISSION_ABOVE_MAX = _kind(11, "commission cannot be more than the max rate")
COMMISSION_TOO_SOON = _kind(12, "commission cannot be changed more than once in 24h")
CHANGE_RATE_NEGATIVE = _kind(13, "commission change rate must be positive")
CHANGE_RATE_ABOVE_MAX = _kind(14, "commission change rate cannot be more than the max rate")
COMMISSION_CHANGE_TOO_LARGE = _kind(15, "commission cannot be changed more than max change rate")
SELF_DELEGATION_BELOW_MINIMUM = _kind(
    16, "validator's self delegation must be greater than their minimum self delegation"
)
MIN_SELF_DELEGATION_DECREASED = _kind(17, "minimum self delegation cannot be decrease")
NO_DELEGATION = _kind(19, "no delegation for (address, validator) tuple")
NO_DELEGATOR = _kind(21, "delegator does not contain delegation")
INSUFFICIENT_SHARES = _kind(22, "insufficient delegation shares")
NOT_ENOUGH_SHARES = _kind(24, "not enough delegation shares")
NO_UNBONDING = _kind(26, "no unbonding delegation found")
TOO_MANY_UNBONDINGS = _kind(27, "too many unbonding delegation entries for (delegator, validator) tuple")
NO_REDELEGATION = _kind(28, "no redelegation found")
SELF_REDELEGATION = _kind(29, "cannot redelegate to the same validator")
TINY_REDELEGATION = _kind(30, "too few tokens to redelegate (truncates to zero tokens)")
BAD_DESTINATION = _kind(31, "redelegation destination validator not found")
TRANSITIVE_REDELEGATION = _kind(
    32,
    "redelegation to this validator already in progress; first redelegation to this validator must complete before "
    "next redelegation",
)
TOO_MANY_REDELEGATIONS = _kind(33, "too many redelegation entries for (delegator, src-validator, dst-validator) tuple")
INVALID_EXCHANGE_RATE = _kind(34, "cannot delegate to validators with invalid (zero) ex-rate")
NO_HISTORICAL_INFO = _kind(38, "no historical info found")
EMPTY_PUBKEY = _kind(39, "empty validator public key")
COMMISSION_BELOW_MIN = _kind(40, "commission cannot be less than min rate")
BAD_SOURCE = _kind(44, "redelegation source validator not found")
