"""Which leases an owner has: known from few questions, and never too few of them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold.app_api.live.holdings import Holdings
from leasehold.app_api.live.journal import Journal, Notes

LEASER, OTHER, OWNER = "leaser", "other leaser", "owner"


@dataclass
class Chain:
    """An owner's leases as blocks open and end them; blocks are noted as they come."""

    chance: random.Random
    lists: list[frozenset[str]] = field(default_factory=lambda: [frozenset()])
    blocks: list[Notes] = field(default_factory=list)
    asked: int = 0

    def __post_init__(self) -> None:
        self.leasers = frozenset({LEASER})
        self.journal = Journal(self, "chain")  # type: ignore[arg-type]
        self.holdings = Holdings(self.journal, self.listed, lambda: self.leasers)
        self.block()

    @property
    def height(self) -> int:
        return len(self.blocks)

    def block(self) -> Notes:
        """The next block, in which a lease may be opened, act, or end."""
        height = self.height + 1
        held = set(self.lists[-1])
        acted: list[str] = []
        named: set[str] = set()
        if self.chance.random() < 0.3:
            named.add(OWNER)
        if self.chance.random() < 0.2:
            held.add(f"lease {height}")
            acted += [LEASER, f"lease {height}"]
            named.add(OWNER)
        for lease in sorted(self.lists[-1]):
            if self.chance.random() < 0.2:
                acted.append(lease)
                if self.chance.random() < 0.4:
                    held.discard(lease)
        notes = Notes(height, height, {name: number for number, name in enumerate(acted)}, frozenset(named), {})
        self.lists.append(frozenset(held))
        self.blocks.append(notes)
        self.journal._notes.append(notes)
        return notes

    async def listed(self, owner: str, height: int) -> dict[str, str]:
        self.asked += 1
        return dict.fromkeys(self.lists[height], "protocol")

    def truly(self, notes: Notes) -> frozenset[str]:
        """Leases listed before or after a block."""
        return self.lists[notes.height - 1] | self.lists[notes.height]


@given(st.integers(0, 10**9))
@settings(max_examples=150, deadline=None)
async def test_no_lease_is_overlooked(seed: int) -> None:
    """However an owner is followed, left, shown and replayed, each block's leases are among those known of it, and what
    is called untouched is."""
    chance = random.Random(seed)
    chain = Chain(chance)
    follows = True
    for _ in range(40):
        notes = chain.block()
        step = chance.random()
        if step < 0.1:
            follows = not follows
        elif step < 0.2:
            chain.holdings.saw(OWNER, notes.height, await chain.listed(OWNER, notes.height))
        elif step < 0.3:
            known = chance.randrange(1, notes.height)
            found = await chain.holdings.acted(OWNER, known, chain.blocks[known:])
            assert {one.height for one in found} >= {
                one.height for one in chain.blocks[known:] if chain.truly(one) & one.contracts.keys()
            }
        elif step < 0.33:
            chain.holdings.forget(())
        looked_at = [notes] if follows else []
        if chance.random() < 0.3:
            looked_at.append(chance.choice(chain.blocks))
        for one in looked_at:
            if OWNER not in one.named and chain.holdings.untouched(OWNER, one):
                assert not chain.truly(one) & one.contracts.keys()
            else:
                assert (await chain.holdings.around(OWNER, one)).keys() >= chain.truly(one)


async def test_a_followed_owner_costs_a_question_when_a_lease_is_opened() -> None:
    """Blocks that open nothing for an owner are looked at without asking."""
    chain = Chain(random.Random(7))
    chain.holdings.saw(OWNER, 1, await chain.listed(OWNER, 1))
    chain.asked = 0
    opened = 0
    for _ in range(200):
        notes = chain.block()
        opened += LEASER in notes.contracts
        if OWNER in notes.named or not chain.holdings.untouched(OWNER, notes):
            await chain.holdings.around(OWNER, notes)
    assert opened > 10
    assert chain.asked == opened


@pytest.mark.parametrize("others", [frozenset({OTHER}), frozenset({LEASER, OTHER}), frozenset[str]()])
async def test_other_leasers_make_it_begin_anew(others: frozenset[str]) -> None:
    """When a protocol comes into sight or goes, what was known of its leases is not complete any more."""
    chain = Chain(random.Random(1))
    chain.holdings.saw(OWNER, 1, {"a": "protocol"})
    assert OWNER in chain.holdings
    chain.leasers = others
    assert OWNER not in chain.holdings
    notes = chain.block()
    assert not chain.holdings.untouched(OWNER, notes)


async def test_what_is_given_is_not_changed_by_what_becomes_known_later() -> None:
    """Whoever goes through the leases of a block waits in between; others learn of leases meanwhile."""
    chain = Chain(random.Random(1))
    given = [await chain.holdings.around(OWNER, chain.block()) for _ in range(2)]
    chain.holdings.saw(OWNER, chain.height, {"one more": "protocol"})
    later = await chain.holdings.around(OWNER, chain.blocks[-1])
    assert "one more" in later
    assert not any("one more" in one for one in given)
