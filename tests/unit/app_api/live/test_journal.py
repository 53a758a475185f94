"""Notes of blocks: who acted in which order, who is named, and how far back they go."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leasehold.app_api.live.journal import MOST_BLOCKS, SCENES, Journal, notes_of
from leasehold.app_api.live.sequence import SPAN, Gone, height_of, last_of, place
from leasehold.chain.client.blocks import FetchedBlock
from leasehold.chain.client.wire import Attribute, BlockResults, Event, TxResult
from leasehold.core.clock import NANOSECONDS

ALICE, LEASE, POOL = ("chain1" + letter * 40 for letter in "qpz")


def event(kind: str, **attributes: str) -> Event:
    return Event(kind, [Attribute(key, value) for key, value in attributes.items()])


def block(
    height: int, *events: Event, end: tuple[Event, ...] = (), code: int = 0, seconds: float = 0.0
) -> FetchedBlock:
    results = BlockResults(str(height), [TxResult(code=code, log="no", events=list(events))], list(end))
    return FetchedBlock(height, int(seconds * NANOSECONDS), b"", b"", "c", b"", [b"tx"], results, b"")


class Chain:
    """Blocks at a steady pace."""

    def __init__(self, per_second: int = 1) -> None:
        self.per_second = per_second
        self.read: list[int] = []

    async def blocks(self, first: int, count: int) -> list[FetchedBlock]:
        self.read += range(first, first + count)
        return [block(height, seconds=height / self.per_second) for height in range(first, first + count)]


def test_contracts_are_noted_in_order_and_addresses_by_name() -> None:
    """Typed and bare contract events count alike, those of the block's end too; other chains' addresses don't."""
    notes = notes_of(
        block(
            7,
            event("transfer", recipient=ALICE, sender="other1" + "q" * 40, amount="5ulsh"),
            event("wasm-ls-repay", _contract_address=LEASE, payment="1"),
            event("execute", _contract_address=LEASE),
            event("message", sender=ALICE, module="wasm"),
            end=(event("wasm", _contract_address=POOL),),
        ),
        "chain",
    )
    assert notes.contracts == {LEASE: 0, POOL: 1}
    assert notes.named == {ALICE, LEASE, POOL}
    assert list(notes.transactions.values()) == [None]
    assert list(notes_of(block(7, code=5), "chain").transactions.values()) == ["no"]


def test_who_met_whom_is_known_by_transaction() -> None:
    """An address is named with a contract where one transaction, or the block's end, has both."""
    met = block(7, event("wasm", _contract_address=POOL), event("transfer", recipient=ALICE))
    apart = block(7, event("transfer", recipient=ALICE), end=(event("wasm", _contract_address=POOL),))
    assert notes_of(met, "chain").named_with({POOL}) == {POOL, ALICE}
    assert notes_of(apart, "chain").named_with({POOL, LEASE}) == {POOL}
    assert notes_of(apart, "chain").named_with({LEASE}) == frozenset()
    assert replace(notes_of(apart, "chain"), scenes=None).named_with({LEASE}) == {POOL, ALICE}


async def test_who_met_whom_is_forgotten_first() -> None:
    """Of old blocks only what replays need is kept."""
    journal = Journal(Chain(), "chain")
    await journal.follow(1000)
    await journal.follow(1000 + SCENES + 40)
    known = [notes.height for notes in journal.since(0) if notes.scenes is not None]
    assert known == list(range(1041, 1041 + SCENES))
    await journal.after(990)
    assert [notes.height for notes in journal.since(0) if notes.scenes is not None] == known


async def test_notes_follow_the_chain_and_reach_back_on_demand() -> None:
    """They start where they are first asked for, go on without gaps, and are read back when somebody needs them."""
    chain = Chain()
    journal = Journal(chain, "chain")
    await journal.follow(1000)
    await journal.follow(1003)
    assert [notes.height for notes in journal.since(1001)] == [1002, 1003]
    assert [notes.height for notes in await journal.after(990)] == list(range(991, 1004))
    assert await journal.after(1003) == ()
    assert sorted(chain.read) == list(range(991, 1004))


async def test_notes_are_bounded_in_time() -> None:
    """What is older than promised is forgotten and not read again."""
    journal = Journal(Chain(), "chain", seconds=60)
    await journal.follow(1000)
    await journal.follow(1200)
    assert len(journal) <= 62
    with pytest.raises(Gone, match="60 seconds"):
        await journal.after(1000)


async def test_ten_minutes_are_kept_by_default() -> None:
    """What clients are promised: everything of the last ten minutes at least, also with ten blocks a second."""
    journal = Journal(Chain(per_second=10), "chain")
    await journal.follow(10_000)
    await journal.follow(20_000)
    assert len(await journal.after(20_000 - 6000)) == 6000
    assert len(journal) <= MOST_BLOCKS


def test_places_tell_heights() -> None:
    """A client at the end of a block knows it all; one in the middle of it only what came before."""
    assert height_of(last_of(7)) == 7
    assert height_of(place(7, 3)) == 6
    assert last_of(7) + 1 == place(8) == 8 * SPAN


async def test_a_stretch_is_known_entirely_or_not() -> None:
    """Notes of some blocks are those of every one of them, or none where one of them is not known."""
    journal = Journal(Chain(), "chain")
    assert journal.between(1, 1) is None
    for height in range(50, 60):
        await journal.follow(height)
    assert [notes.height for notes in journal.between(52, 55) or ()] == [52, 53, 54, 55]
    assert [notes.height for notes in journal.between(50, 59) or ()] == list(range(50, 60))
    assert journal.between(49, 55) is None
    assert journal.between(55, 60) is None
    assert journal.between(60, 59) == ()
