"""Figures read from a node's answers, against a computation of their own at several block times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest

from leasehold.chain.registry import registry
from leasehold.core.settings import Settings, SupplyApi
from leasehold.supply_api.figures import SupplyReader

TYPES = registry()
START, DAY = 1_700_000_000, 86_400
TOTAL = 900_000_000_123_456


@dataclass(frozen=True)
class Grant:
    """A vesting account as the test computes it, without the service's own code."""

    address: str
    kind: str
    amount: int
    start: int
    end: int
    periods: tuple[tuple[int, int], ...] = ()

    def message(self) -> Any:
        message = TYPES.new(
            f"cosmos.vesting.v1beta1.{self.kind}",
            base_vesting_account={
                "base_account": {"address": self.address},
                "original_vesting": [{"denom": "ulsh", "amount": str(self.amount)}],
                # What is delegated still vests: it must not change the figure.
                "delegated_vesting": [{"denom": "ulsh", "amount": str(self.amount // 2)}],
                "end_time": self.end,
            },
        )
        if self.kind != "DelayedVestingAccount":
            message.start_time = self.start
        for length, amount in self.periods:
            message.vesting_periods.add(length=length, amount=[{"denom": "ulsh", "amount": str(amount)}])
        return message

    def left(self, now: int) -> Fraction:
        if self.kind == "ContinuousVestingAccount":
            gone = min(1, max(0, Fraction(now - self.start, self.end - self.start)))
            return self.amount * (1 - gone)
        if self.kind == "DelayedVestingAccount":
            return Fraction(self.amount if now < self.end else 0)
        ends = [self.start + sum(length for length, _ in self.periods[: n + 1]) for n in range(len(self.periods))]
        return Fraction(sum(amount for end, (_, amount) in zip(ends, self.periods, strict=True) if now < end))


GRANTS = (
    Grant("chain1continuous", "ContinuousVestingAccount", 270_680_000_000_007, START, START + 1096 * DAY),
    Grant("chain1delayed", "DelayedVestingAccount", 4_500_000_000_000, 0, START + 400 * DAY),
    Grant("chain1periodic", "PeriodicVestingAccount", 90_000_000_000_001, START, START + 300 * DAY,
          ((100 * DAY, 30_000_000_000_000), (100 * DAY, 30_000_000_000_000), (100 * DAY, 30_000_000_000_001))),
)  # fmt: skip


class Node:
    """Answers the three queries at any height, two accounts a page; notes what was asked at which height."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        plain = TYPES.new("cosmos.auth.v1beta1.BaseAccount", address="chain1plain")
        self.accounts = [TYPES.pack(one) for one in (plain, *(grant.message() for grant in GRANTS))]

    async def abci_query(self, path: str, data: bytes, height: int) -> bytes:
        self.asked.append((path, height))
        kinds = TYPES.method_by_path[path]
        request = TYPES.parse(kinds.request_type, data)
        if path.endswith("/SupplyOf"):
            answer = kinds.response_type(amount={"denom": request.denom, "amount": str(TOTAL)})
        elif path.endswith("/Account"):
            wanted = next(grant for grant in GRANTS if grant.address == request.address)
            answer = kinds.response_type(account=TYPES.pack(wanted.message()))
        else:
            first = int(request.pagination.key or b"0")
            following = str(first + 2).encode() if first + 2 < len(self.accounts) else b""
            answer = kinds.response_type(accounts=self.accounts[first : first + 2], pagination={"next_key": following})
        return bytes(answer.SerializeToString())


def _reader(node: Node, now: int, *, reserve: tuple[str, ...] = ()) -> SupplyReader:
    async def head() -> tuple[int, int]:
        return 42, now * 10**9 + 999_999_999

    settings = replace(Settings(), supply_api=replace(SupplyApi(), reserve_accounts=reserve))
    return SupplyReader(TYPES, settings, node, head)  # type: ignore[arg-type]


@pytest.mark.parametrize("day", [-1, 0, 1, 99, 100, 200, 299, 300, 399, 400, 1000, 1095, 1096, 5000])
async def test_circulating_is_total_less_what_still_vests_at_the_block(day: int) -> None:
    """At any block time, of continuous, delayed and periodic grants together, within the unit the chain rounds by."""
    now = START + day * DAY
    figures = await _reader(Node(), now).read()
    expected = TOTAL - sum(grant.left(now) for grant in GRANTS)
    assert abs(figures.circulating - expected) <= 1
    assert figures.whole(figures.circulating) == str(figures.circulating // 10**6)
    assert figures.total == TOTAL


async def test_every_account_is_found_over_all_pages_at_one_height() -> None:
    """All pages are read, plain accounts are no reserve, and every answer is of the same block."""
    node = Node()
    figures = await _reader(node, START).read()
    assert [account.address for account in figures.accounts] == sorted(grant.address for grant in GRANTS)
    assert {height for _, height in node.asked} == {42}
    assert sum(path.endswith("/Accounts") for path, _ in node.asked) == 2


async def test_configured_reserve_accounts_are_the_only_ones() -> None:
    """With a list of reserve accounts, what vests elsewhere circulates."""
    now = START + 250 * DAY
    figures = await _reader(Node(), now, reserve=("chain1periodic",)).read()
    assert [account.address for account in figures.accounts] == ["chain1periodic"]
    assert figures.circulating == TOTAL - 30_000_000_000_001
