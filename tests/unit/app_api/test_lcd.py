"""Reading the chain at one height, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import msgspec
import pytest

from leasehold.app_api.upstreams.failures import ChainFailure
from leasehold.app_api.upstreams.lcd import (
    HEIGHT_HEADER,
    ChainReads,
    ContractRefused,
    Lcd,
    NoSuchContract,
    Shared,
    smart_target,
)
from leasehold.app_api.upstreams.transport import Answer, Transport


class Page(msgspec.Struct):
    next_key: str | None = None


class Items(msgspec.Struct):
    items: list[int]
    pagination: Page | None = None


class Scripted(Transport):
    """A transport that answers from a list and remembers what it was asked."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        super().__init__("chain", "http://lcd", session, failure=ChainFailure)
        self.answers: list[tuple[int, Any]] = []
        self.asked: list[tuple[str, Any]] = []

    def script(self, *answers: tuple[int, Any]) -> None:
        self.answers = list(answers)

    async def ask(self, method: str, target: str, **options: Any) -> Answer:
        self.asked.append((target, options.get("headers")))
        await asyncio.sleep(0)
        status, body = self.answers.pop(0)
        return Answer(status, msgspec.json.encode(body), {})


async def _no_pause(seconds: float) -> None:
    await asyncio.sleep(0)


@pytest.fixture
async def transport() -> AsyncIterator[Scripted]:
    async with aiohttp.ClientSession() as session:
        yield Scripted(session)


async def test_an_answer_of_a_height_is_asked_for_once(transport: Scripted) -> None:
    """Everybody who reads the same at the same height shares one call; another height is another call."""
    transport.script((200, {"data": [1]}), (200, {"data": [2]}))
    reads = ChainReads(Lcd(transport))
    views = [reads.at(7) for _ in range(50)]
    found = await asyncio.gather(*(view.smart("a", {"q": {}}, list[int]) for view in views))
    assert found == [[1]] * 50
    assert await reads.at(8).smart("a", {"q": {}}, list[int]) == [2]
    assert [headers for _, headers in transport.asked] == [{HEIGHT_HEADER: "7"}, {HEIGHT_HEADER: "8"}]


async def test_a_failure_is_not_remembered(transport: Scripted) -> None:
    """The next reader of the same height asks again."""
    transport.script((500, {"code": 13, "message": "boom"}), (200, {"data": 5}))
    view = ChainReads(Lcd(transport)).at(1)
    with pytest.raises(ChainFailure, match="HTTP 500"):
        await view.smart("a", {}, int)
    assert await view.smart("a", {}, int) == 5


async def test_a_reader_that_leaves_does_not_stop_the_others() -> None:
    """Cancelling one waiter leaves the shared work running."""
    shared: Shared[int] = Shared()
    gate = asyncio.Event()

    async def work() -> int:
        await gate.wait()
        return 1

    first, second = (asyncio.create_task(shared.get("k", work)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    gate.set()
    assert await second == 1
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_old_heights_are_forgotten(transport: Scripted) -> None:
    """Only the newest blocks' answers are kept."""
    transport.script(*((200, {"data": number}) for number in range(5)))
    reads = ChainReads(Lcd(transport))
    for height in (1, 2, 3):
        await reads.at(height).smart("a", {}, int)
    assert await reads.at(3).smart("a", {}, int) == 2
    assert await reads.at(1).smart("a", {}, int) == 3


async def test_refusals_are_told_apart(transport: Scripted) -> None:
    """No such contract, a contract's own error or abort, and a failing chain are different things."""
    lcd = Lcd(transport)
    transport.script(
        (404, {"code": 2, "message": "codespace wasm code 22: no such contract: address a"}),
        (500, {"code": 2, "message": "Generic error: x: query wasm contract failed"}),
        (500, {"code": 2, "message": "Error calling the VM: Aborted: not implemented: a Void contract!: wasmvm error"}),
        (500, {"code": 13, "message": "internal"}),
    )
    for kind in (NoSuchContract, ContractRefused, ContractRefused, ChainFailure):
        with pytest.raises(kind) as error:
            await lcd.smart("a", {}, int)
        assert type(error.value) is kind


async def test_an_lcd_behind_the_rpc_is_waited_for(transport: Scripted) -> None:
    """A height the LCD does not know yet is asked for again, for a moment."""
    ahead = (400, {"code": 3, "message": "cannot query with height in the future; please provide a valid height"})
    transport.script(ahead, ahead, (200, {"data": 9}))
    assert await Lcd(transport, _no_pause).smart("a", {}, int, height=5) == 9


async def test_every_page_is_read(transport: Scripted) -> None:
    """Lists are followed to their end."""
    transport.script(
        (200, {"items": [1], "pagination": {"next_key": "a+/="}}),
        (200, {"items": [2], "pagination": {"next_key": None}}),
    )
    pages = await ChainReads(Lcd(transport)).at(1).pages("/x?y=1", Items)
    assert [page.items for page in pages] == [[1], [2]]
    assert transport.asked[1][0] == "/x?y=1&pagination.key=a%2B%2F%3D"


def test_a_query_is_escaped() -> None:
    """Neither the address nor the base64 of a query can leave its path segment."""
    target = smart_target("../x", {"a": "??>>"})
    assert target.startswith("/cosmwasm/wasm/v1/contract/..%2Fx/smart/")
    assert not set("+/=") & set(target.rpartition("/")[2])
