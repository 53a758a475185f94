"""The index is asked about a lease when the lease acts, and rarely otherwise."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from tests.unit.app_api.conftest import LEASE, OWNER, Running, opened

from leasehold.app_api.resources.lease_states import State
from leasehold.app_api.resources.leases import sign_of
from leasehold.app_api.upstreams import openings as module
from leasehold.app_api.upstreams.data import OpenedLease, Opening
from leasehold.app_api.upstreams.failures import ServiceFailure
from leasehold.app_api.upstreams.openings import Openings, Sign

IDLE = Sign(("opened", "2", "5"), 10)


class Index:
    """An index that counts; `fails` makes it a dead one."""

    def __init__(self) -> None:
        self.asked = 0
        self.fails = False
        # What it tells, its count where nothing is set.
        self.tells = ""

    async def opening(self, lease: str) -> Opening | None:
        self.asked += 1
        await asyncio.sleep(0)
        if self.fails:
            raise ServiceFailure("dead", upstream="ETL")
        return Opening(msgspec.convert({"LS_timestamp": self.tells or str(self.asked)}, OpenedLease))


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def index() -> Index:
    return Index()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def kept(index: Index, clock: Clock) -> Openings:
    return Openings(index, clock.monotonic)  # type: ignore[arg-type]


def _number(found: Opening | None) -> Any:
    return found.lease.LS_timestamp if found is not None else None


async def test_many_askers_cost_one_question(index: Index, kept: Openings) -> None:
    """Whoever asks while an answer is under way, or a moment later, gets that answer."""
    found = await asyncio.gather(*(kept.of(LEASE, IDLE) for _ in range(100)))
    assert {_number(one) for one in found} == {"1"}
    assert _number(await kept.of(LEASE)) == "1"
    assert index.asked == 1


async def test_a_lease_at_rest_is_asked_about_rarely(index: Index, clock: Clock, kept: Openings) -> None:
    """Interest only grows, which is no act: after half a minute of one question a block, there is one a minute."""
    for block in range(300):
        clock.now = float(block)
        await kept.of(LEASE, Sign(IDLE.mark, IDLE.due + block))
    assert index.asked <= 30 + 5


async def test_an_act_is_looked_up_at_once(index: Index, clock: Clock, kept: Openings) -> None:
    """Another amount, another state or less interest due means that the record has changed, or will in a moment."""
    await kept.of(LEASE, IDLE)
    clock.now = 100.0
    await kept.of(LEASE, IDLE)
    clock.now = 100.5
    signs = (Sign(("opened", "2", "4"), 10), Sign(("opened", "2", "4"), 3), Sign(("closed",)))
    for number, sign in enumerate(signs, start=3):
        assert _number(await kept.of(LEASE, sign)) == str(number)
    clock.now = 102.0
    assert _number(await kept.of(LEASE, signs[-1])) == "6"


async def test_a_dead_index_takes_nothing_away(index: Index, clock: Clock, kept: Openings) -> None:
    """What was known stays while the index fails; a lease it never told about has no record."""
    await kept.of(LEASE, IDLE)
    index.fails = True
    clock.now = 1000.0
    assert _number(await kept.of(LEASE, IDLE)) == "1"
    assert await kept.of(OWNER, IDLE) is None


@pytest.mark.parametrize(
    ("tells", "expected"),
    [
        ("1", {101.0: 1, 102.0: 2, 110.0: 2, 131.0: 3, 200.0: 3}),
        ("", {101.0: 1, 102.0: 2, 110.0: 2, 131.0: 2, 200.0: 2}),
    ],
    ids=["nothing new", "news"],
)
async def test_what_acted_in_a_crowd_is_asked_about_afterwards(
    index: Index, clock: Clock, tells: str, expected: dict[float, int]
) -> None:
    """A record is recalled without a question, which is asked when the index should have the act; where it has nothing
    new by then, once more when it must."""
    index.tells = tells
    pauses: asyncio.Queue[float] = asyncio.Queue()
    go_on = asyncio.Semaphore(0)

    async def pause(seconds: float) -> None:
        await pauses.put(seconds)
        await go_on.acquire()

    kept = Openings(index, clock.monotonic, pause)  # type: ignore[arg-type]
    assert _number(await kept.recall(LEASE)) == "1"
    clock.now = 100.0
    assert _number(await kept.recall(LEASE)) == "1"
    turns = 0

    async def turn() -> None:
        nonlocal turns
        turns += 1

    settling = asyncio.create_task(kept.settling(turn))
    asked = {}
    for now in (101.0, 102.0, 110.0, 131.0, 200.0):
        while await pauses.get() != module.SETTLED_SECONDS[0]:
            go_on.release()
        clock.now = now
        go_on.release()
        # The next rest means that this round is over.
        while (seconds := await pauses.get()) != module.SETTLED_SECONDS[0]:
            go_on.release()
        pauses.put_nowait(seconds)
        asked[now] = index.asked
    settling.cancel()
    assert asked == expected
    assert turns >= index.asked - 1, "the index was asked out of turn"
    assert _number(await kept.recall(LEASE)) == (tells or str(index.asked))


async def test_memory_is_bounded(kept: Openings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The leases nobody asked about for longest are forgotten first."""
    monkeypatch.setattr(module, "MOST_LEASES", 3)
    for number in range(5):
        await kept.of(f"lease{number}", IDLE)
    assert len(kept) == 3


def test_signs_of_states() -> None:
    """Time alone changes no sign but what is due; a repayment of interest shows as less due."""
    idle = sign_of(msgspec.convert(opened(), State))
    assert idle == Sign(("opened", "2000000", "5000000"), 10)
    assert sign_of(msgspec.convert({"closed": []}, State)).mark == ("closed",)
    assert not Sign(idle.mark, idle.due - 1).follows(idle)
    assert Sign(idle.mark, idle.due + 1).follows(idle)


async def test_blocks_do_not_make_the_index_work(warm: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wallet that is watched block after block costs the index nothing while its leases rest; history is shared."""
    monkeypatch.setattr(module, "SETTLING_SECONDS", 0.0)
    await warm.get(f"/api/leases?address={OWNER}")
    warm.world.calls.clear()
    for _ in range(5):
        warm.world.height += 1
        await warm.app.upstreams.node.refresh()
        assert (await warm.get(f"/api/leases?address={OWNER}"))[0] == 200
    await asyncio.gather(*(warm.get(f"/api/leases/{LEASE}/history") for _ in range(20)))
    assert sum(call.startswith("/api/ls-opening") for call in warm.world.calls) <= 1
    assert await warm.get("/api/leases/nonsense/history") == (200, [])
