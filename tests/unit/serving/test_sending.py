"""A whole answer is one write; what can't be one goes through ASGI."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from leasehold.serving.answers import Answer
from leasehold.serving.sending import WHOLE, Outlet, Sender

COMMON = [(b"link", b"</openapi.json>")]


class Wire:
    """A connection and a cycle of uvicorn, as far as sending needs them."""

    def __init__(self, method: str = "GET", *, keep_alive: bool = True, paused: bool = False) -> None:
        self.written: list[bytes] = []
        self.closed = 0
        self.done = 0
        self.messages: list[Any] = []
        transport = SimpleNamespace(write=self.written.append, is_closing=lambda: False)
        watch = SimpleNamespace(date_line=b"date: now\r\n")
        owner: Any = SimpleNamespace(
            transport=transport, watch=watch, flow=SimpleNamespace(write_paused=paused), depart=self._closed
        )
        self.cycle: Any = SimpleNamespace(
            scope={"method": method},
            keep_alive=keep_alive,
            disconnected=False,
            response_started=False,
            response_complete=False,
            waiting_for_100_continue=True,
            message_event=asyncio.Event(),
            on_response=self._done,
        )
        self.scope = {"extensions": {WHOLE: {"send": Outlet(owner, self.cycle).whole}}}

    def _closed(self) -> None:
        self.closed += 1

    def _done(self) -> None:
        self.done += 1

    async def send(self, message: Any) -> None:
        self.messages.append(message)

    async def answer(self, answer: Answer) -> Sender:
        sender = Sender(self.scope, self.send, COMMON)
        await sender.answer(answer)
        return sender


def plain(body: bytes = b"[]", *, close: bool = False) -> Answer:
    return Answer(200, [(b"content-length", str(len(body)).encode())], body, close)


async def test_an_answer_is_one_write() -> None:
    """Status, date, its headers and those of every response, body; then the cycle is over."""
    wire = Wire()
    sender = await wire.answer(plain())
    head = b"HTTP/1.1 200 OK\r\ndate: now\r\ncontent-length: 2\r\nlink: </openapi.json>\r\n\r\n"
    assert wire.written == [head + b"[]"]
    assert (sender.status, wire.done, wire.closed, wire.messages) == (200, 1, 0, [])
    assert wire.cycle.response_started
    assert wire.cycle.response_complete
    assert wire.cycle.message_event.is_set()


async def test_head_has_no_body() -> None:
    """HEAD gets the head of the GET."""
    wire = Wire("HEAD")
    await wire.answer(plain())
    assert wire.written[0].endswith(b"\r\n\r\n")
    assert b"content-length: 2" in wire.written[0]


@pytest.mark.parametrize(("keep_alive", "close"), [(False, False), (True, True), (False, True)])
async def test_the_last_answer_says_so(keep_alive: bool, close: bool) -> None:
    """Where the client or the answer ends the connection, it is said once and done."""
    wire = Wire(keep_alive=keep_alive)
    await wire.answer(plain(close=close))
    assert wire.written[0].count(b"connection: close\r\n") == 1
    assert wire.closed == 1


async def test_a_header_can_not_start_another() -> None:
    """A line end in a header is a mistake of ours, not an answer."""
    for value in (b"a\r\nset-cookie: b", b"a\nb", b"a\rb"):
        wire = Wire()
        with pytest.raises(RuntimeError, match="line end"):
            await wire.answer(Answer(200, [(b"content-length", b"0"), (b"x", value)]))
        assert not wire.written


async def test_what_must_wait_goes_through_asgi() -> None:
    """A client that does not read, a stream and a body without a length are uvicorn's."""

    async def chunks() -> AsyncIterator[bytes]:
        yield b"a"

    slow = Wire(paused=True)
    await slow.answer(plain())
    assert [message["type"] for message in slow.messages] == ["http.response.start", "http.response.body"]
    for wire, answer in ((Wire(), Answer(200, [], chunks())), (Wire(), Answer(200, [], b"x"))):
        await wire.answer(answer)
        assert not wire.written
        assert wire.messages[0]["headers"] == COMMON
    unchanged = Wire()
    await unchanged.answer(Answer(304, []))
    assert unchanged.written


async def test_nothing_follows_an_answer_that_has_begun() -> None:
    """An error after the first bytes can't be told any more."""
    wire = Wire()
    sender = await wire.answer(plain())
    await sender.answer(plain(b"later"))
    assert len(wire.written) == 1
    assert not wire.messages
