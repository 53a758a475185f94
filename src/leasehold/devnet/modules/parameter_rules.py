"""What governance may set parameters to; a refusal carries the text the SDK gives it."""

from __future__ import annotations

from typing import Any

from leasehold.core import fixed_point
from leasehold.core.fixed_point import ONE
from leasehold.devnet.app import coins as coin_lists
from leasehold.devnet.app.coins import coins_text, from_proto
from leasehold.devnet.app.errors import undefined
from leasehold.devnet.modules.instants import duration


def _share(value: int, what: str, *, negative: str = "cannot be negative", positive: bool = False) -> None:
    """Refuse a scaled number outside zero to one."""
    if value < 0 or (positive and value == 0):
        raise undefined(f"{what} {negative}: {fixed_point.text(value)}")
    if value > ONE:
        raise undefined(f"{what} too large: {fixed_point.text(value)}")


def _scaled(value: str | bytes) -> int:
    return int(value or "0")


def check_staking(params: Any) -> None:
    if duration(params.unbonding_time) <= 0:
        raise undefined(f"unbonding time must be positive: {duration(params.unbonding_time)}")
    if params.max_validators == 0:
        raise undefined("max validators must be positive: 0")
    if params.max_entries == 0:
        raise undefined("max entries must be positive: 0")
    if not params.bond_denom.strip():
        raise undefined("bond denom cannot be blank")
    if not coin_lists.denom_valid(params.bond_denom):
        raise undefined(f"invalid denom: {params.bond_denom}")
    rate = _scaled(params.min_commission_rate)
    if rate < 0:
        raise undefined(f"minimum commission rate cannot be negative: {fixed_point.text(rate)}")
    if rate > ONE:
        raise undefined(f"minimum commission rate cannot be greater than 100%: {fixed_point.text(rate)}")


def check_slashing(params: Any) -> None:
    if params.signed_blocks_window <= 0:
        raise undefined(f"signed blocks window must be positive: {params.signed_blocks_window}")
    _share(_scaled(params.min_signed_per_window), "min signed per window")
    if duration(params.downtime_jail_duration) <= 0:
        raise undefined(f"downtime jail duration must be positive: {params.downtime_jail_duration.seconds}s")
    _share(_scaled(params.slash_fraction_double_sign), "double sign slash fraction")
    _share(_scaled(params.slash_fraction_downtime), "downtime slash fraction")


def check_distribution(params: Any) -> None:
    _share(_scaled(params.community_tax), "community tax", negative="must be positive")


def _parsed(text: str, what: str) -> int:
    try:
        return fixed_point.parse(text)
    except ValueError as error:
        raise undefined(f"invalid {what}: {error}") from None


def check_gov(params: Any) -> None:
    least, expedited_least = from_proto(params.min_deposit), from_proto(params.expedited_min_deposit)
    if not least or not coin_lists.valid(least):
        raise undefined(f"invalid minimum deposit: {coins_text(least)}")
    if not expedited_least or not coin_lists.valid(expedited_least):
        raise undefined(f"invalid expedited minimum deposit: {coins_text(expedited_least)}")
    if any(coin_lists.amount_of(expedited_least, coin.denom) <= coin.amount for coin in least):
        raise undefined(
            f"expedited minimum deposit must be greater than minimum deposit: {coins_text(expedited_least)}"
        )
    if duration(params.max_deposit_period) <= 0:
        raise undefined(f"maximum deposit period must be positive: {params.max_deposit_period.seconds}s")
    _share(_parsed(params.quorum, "quorum string"), "quorom")
    threshold = _parsed(params.threshold, "threshold string")
    _share(threshold, "vote threshold", negative="must be positive", positive=True)
    expedited = _parsed(params.expedited_threshold, "expedited threshold string")
    _share(expedited, "expedited vote threshold", negative="must be positive", positive=True)
    if expedited <= threshold:
        raise undefined(
            f"expedited vote threshold {fixed_point.text(expedited)}, "
            f"must be greater than the regular threshold {fixed_point.text(threshold)}"
        )
    veto = _parsed(params.veto_threshold, "vetoThreshold string")
    _share(veto, "veto threshold", negative="must be positive", positive=True)
    _check_periods(params)
    _share(
        _parsed(params.min_initial_deposit_ratio, "mininum initial deposit ratio of proposal"),
        "mininum initial deposit ratio of proposal",
        negative="must be positive",
    )
    _share(
        _parsed(params.proposal_cancel_ratio, "burn rate of cancel proposal"),
        "burn rate of cancel proposal",
        negative="must be positive",
    )
    _parsed(params.min_deposit_ratio, "mininum deposit ratio of proposal")


def _check_periods(params: Any) -> None:
    regular, expedited = duration(params.voting_period), duration(params.expedited_voting_period)
    if regular <= 0:
        raise undefined(f"voting period must be positive: {params.voting_period.seconds}s")
    if expedited <= 0:
        raise undefined(f"expedited voting period must be positive: {params.expedited_voting_period.seconds}s")
    if expedited >= regular:
        raise undefined(
            f"expedited voting period {params.expedited_voting_period.seconds}s must be strictly less that "
            f"the regular voting period {params.voting_period.seconds}s"
        )
