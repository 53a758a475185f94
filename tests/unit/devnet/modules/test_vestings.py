"""Vesting accounts: created once, funded, locked by their schedule."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.devnet.modules.unsigned_chain import DENOM, UnsignedChain

from leasehold.core.addresses import module_address
from leasehold.devnet.modules.accounts import Kind

SDK = "cosmos.vesting.v1beta1."
OWN = "leasehold.vestings.v1beta1."


@pytest.fixture
def chain() -> UnsignedChain:
    chain = UnsignedChain("ann")
    chain.seal()
    return chain


def own(chain: UnsignedChain, **fields: Any) -> Any:
    now = chain.block.time_s
    given = {
        "from_address": chain.account("ann"),
        "to_address": chain.account("new"),
        "amount": [chain.coin(1000)],
        "start_time": now,
        "end_time": now + 100,
    } | fields
    return chain.message(OWN + "MsgCreateVestingAccount", **given)


def spendable(chain: UnsignedChain, name: str) -> int:
    return chain.modules.bank.spendable(chain.context(), chain.address(name), DENOM)


def test_a_continuous_account_frees_its_coins_over_time(chain: UnsignedChain) -> None:
    """Half the time, half the coins."""
    chain.done(own(chain))
    assert spendable(chain, "new") == 0
    chain.seal(seconds=50)
    assert spendable(chain, "new") == 500
    chain.seal(seconds=50)
    assert spendable(chain, "new") == 1000


def test_a_delayed_account_frees_them_at_the_end(chain: UnsignedChain) -> None:
    """Nothing before the end, all at it."""
    chain.done(own(chain, delayed=True))
    chain.seal(seconds=99)
    assert spendable(chain, "new") == 0
    chain.seal(seconds=1)
    assert spendable(chain, "new") == 1000


@pytest.mark.parametrize(
    ("fields", "log"),
    [
        ({"start_time": 0}, "invalid start time: invalid request"),
        ({"end_time": 0}, "invalid end time: invalid request"),
        ({"start_time": 10, "end_time": 10}, "invalid start time: invalid request"),
    ],
)
def test_times_are_checked_before_anything_runs(chain: UnsignedChain, fields: dict[str, int], log: str) -> None:
    """A schedule that makes no sense is refused statelessly."""
    assert chain.run(own(chain, **fields)).log == log


def test_only_new_accounts_vest(chain: UnsignedChain) -> None:
    """Neither a known account nor a module's may become one."""
    chain.done(own(chain))
    assert chain.run(own(chain)).log == f"account {chain.account('new')} already exists: invalid request"
    gov = chain.prefixes.account_text(module_address("gov"))
    assert chain.run(own(chain, to_address=gov)).log == f"{gov} is not allowed to receive funds: unauthorized"


def test_the_sdk_s_own_messages(chain: UnsignedChain) -> None:
    """Continuous from now, locked for ever, and in periods."""
    ends = {"from_address": chain.account("ann")}
    now = chain.block.time_s
    coins = [chain.coin(1000)]
    chain.done(
        chain.message(
            SDK + "MsgCreateVestingAccount", to_address=chain.account("a"), amount=coins, end_time=now + 10, **ends
        )
    )
    chain.done(
        chain.message(SDK + "MsgCreatePermanentLockedAccount", to_address=chain.account("b"), amount=coins, **ends)
    )
    periodic = chain.message(
        SDK + "MsgCreatePeriodicVestingAccount", to_address=chain.account("c"), start_time=now, **ends
    )
    for length, amount in ((10, 300), (20, 700)):
        periodic.vesting_periods.add(length=length, amount=[chain.coin(amount)])
    chain.done(periodic)
    kinds = [chain.modules.auth.get(chain.context(), chain.address(name)).kind for name in "abc"]  # type: ignore[union-attr]
    assert kinds == [Kind.CONTINUOUS, Kind.PERMANENT, Kind.PERIODIC]
    chain.seal(seconds=10)
    assert [spendable(chain, name) for name in "abc"] == [1000, 0, 300]


def test_locked_coins_can_be_delegated(chain: UnsignedChain) -> None:
    """Delegating uses locked coins first, so that free ones stay free."""
    chain.done(own(chain, amount=[chain.coin(2_000_000)]))
    chain.done(chain.create_validator("ann", 5_000_000))
    chain.done(chain.stake("MsgDelegate", "new", "ann", 1_500_000))
    account = chain.modules.auth.get(chain.context(), chain.address("new"))
    assert account is not None
    assert account.vesting is not None
    assert account.vesting.delegated_vesting == [(DENOM, 1_500_000)]
    assert account.vesting.delegated_free == []
