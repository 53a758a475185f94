"""Wire types of the treasury."""

from __future__ import annotations

from typing import ClassVar

from leasehold.protocol import rewards
from leasehold.protocol.scalars import U16, U32, Address, Percent100
from leasehold.protocol.serde import Empty, OneOf, Wire


class Bar(Wire, frozen=True):
    """A step of the reward scale: from `tvl` thousands of stable units on, `apr` permille."""

    tvl: U32
    apr: Percent100


class RewardScale(Wire, frozen=True):
    """The reward scale; sorted when it is used."""

    bars: list[Bar]

    def __post_init__(self) -> None:
        self.value()

    def value(self) -> rewards.RewardScale:
        """The scale as the arithmetic wants it."""
        return rewards.RewardScale.of(rewards.Bar(bar.tvl, bar.apr) for bar in self.bars)


class Instantiate(Wire, frozen=True):
    """A new treasury."""

    rust_name: ClassVar[str] = "InstantiateMsg"
    cadence_hours: U16
    protocols_registry: Address
    timealarms: Address
    tvl_to_apr: RewardScale


class Execute(OneOf, frozen=True):
    """What the treasury can be told."""

    rust_name: ClassVar[str] = "ExecuteMsg"
    time_alarm: Empty | None = None


class Cadence(Wire, frozen=True):
    """Hours between dispatches."""

    cadence_hours: U16


class Rewards(Wire, frozen=True):
    """Another scale."""

    tvl_to_apr: RewardScale


class Sudo(OneOf, frozen=True):
    """What governance can tell the treasury."""

    rust_name: ClassVar[str] = "SudoMsg"
    config: Cadence | None = None
    rewards: Rewards | None = None


class Query(OneOf, frozen=True):
    """What the treasury can be asked."""

    rust_name: ClassVar[str] = "QueryMsg"
    config: Empty | None = None
    calculate_rewards: Empty | None = None
    platform_package_release: Empty | None = None
