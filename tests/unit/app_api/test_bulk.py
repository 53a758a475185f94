"""Questions that are asked together are answered as the LCD answers them, or left to it."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from leasehold.app_api.upstreams import chain
from leasehold.app_api.upstreams.bulk import Bulk, Question, smart_question
from leasehold.app_api.upstreams.lcd import ChainReads
from leasehold.chain.client.contracts import field
from leasehold.chain.client.errors import NodeUnreachable


class Amount(msgspec.Struct):
    amount: str


class Node:
    """A node that answers every question with the next of some answers, and what it was asked."""

    url = "http://node"
    batch_limit = 3

    def __init__(self, *answers: bytes | None) -> None:
        self.answers = list(answers)
        self.calls: list[dict[str, Any]] = []

    async def ask(self, question: Any) -> Any:
        return await question(self)

    async def batch(self, calls: list[tuple[str, dict[str, Any]]]) -> list[bytes | None]:
        await asyncio.sleep(0)
        if not self.answers:
            raise NodeUnreachable("gone", upstream=self.url)
        assert len(calls) <= self.batch_limit
        self.calls += [params for _, params in calls]
        return [self.answers.pop(0) for _ in calls]

    def query_value(self, raw: bytes | None) -> bytes:
        assert raw is not None
        return raw


class Lcd:
    """An LCD that says where it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def smart(self, contract: str, query: Any, kind: Any, *, height: int) -> Amount:
        self.asked.append(contract)
        return Amount(f"lcd at {height}")

    async def read(self, target: str, kind: Any, *, height: int, context: str) -> Any:
        self.asked.append(target)
        return msgspec.convert({"balances": [{"denom": "lcd", "amount": "1"}]}, kind)


def _coin(denom: str, amount: str) -> bytes:
    return field(1, field(1, denom.encode()) + field(2, amount.encode()))


@pytest.mark.parametrize(
    ("answer", "amount", "calls"),
    [
        (field(1, b'{"amount":"7"}'), "7", 0),
        (field(1, b'{"amount":"' + b"9" * 300 + b'"}'), "9" * 300, 0),
        (field(1, b"null"), "lcd at 5", 1),
        (field(1, b"[]"), "lcd at 5", 1),
        (field(1, b"{"), "lcd at 5", 1),
        (b"", "lcd at 5", 1),
        (b"\x0a", "lcd at 5", 1),
    ],
)
async def test_a_contract_answers_or_the_lcd_does(answer: bytes, amount: str, calls: int) -> None:
    """What is a contract's answer is at hand; whatever else comes, the LCD is asked."""
    lcd, node = Lcd(), Node(answer)
    reads = ChainReads(lcd, Bulk(node))  # type: ignore[arg-type]
    view = reads.at(5)
    await reads.prepare([(view, [smart_question("pool", {"price": []}, Amount)] * 2)])
    assert (await view.smart("pool", {"price": []}, Amount)).amount == amount
    assert [call["height"] for call in node.calls] == ["5"]
    assert len(lcd.asked) == calls


async def test_what_is_known_is_not_asked_again() -> None:
    """Questions of two blocks go in one batch; one that was answered, or is being asked, is left out of the next."""
    lcd, node = Lcd(), Node(*(field(1, b'{"amount":"%d"}' % number) for number in range(3)))
    reads = ChainReads(lcd, Bulk(node))  # type: ignore[arg-type]
    now, before = reads.at(5), reads.at(4)
    asked = smart_question("a", {}, Amount)
    await reads.prepare([(now, [asked]), (before, [asked])])
    await reads.prepare([(now, [asked, smart_question("b", {}, Amount)]), (before, [])])
    await reads.prepare([(now, [asked])])
    found = [await view.smart(name, {}, Amount) for view, name in ((now, "a"), (before, "a"), (now, "b"))]
    assert [one.amount for one in found] == ["0", "1", "2"]
    assert await now.smarts("a", [({}, Amount)]) == [Amount("0")]
    assert [call["height"] for call in node.calls] == ["5", "4", "5"]
    assert lcd.asked == []


async def test_balances_are_those_of_the_bank() -> None:
    """Coins come in the bank's order; of an account with more of them than a page has, and without a node, the LCD
    tells."""
    lcd = Lcd()
    coins = _coin("a", "5") + _coin("b", "12345678901234567890")
    node = Node(coins, b"", coins + field(2, field(1, b"next")), coins + field(2, b"\x10\x02"))
    reads = ChainReads(lcd, Bulk(node))  # type: ignore[arg-type]
    view = reads.at(9)
    await reads.prepare([(view, [chain.balances_question(name) for name in ("x", "empty", "rich", "counted")])])
    expected = [chain.Coin("a", "5"), chain.Coin("b", "12345678901234567890")]
    assert await chain.balances(view, "x") == await chain.balances(view, "counted") == expected
    assert await chain.balances(view, "empty") == []
    assert lcd.asked == []
    await reads.prepare([(view, [chain.balances_question("y")])])
    for name in ("rich", "y"):
        assert await chain.balances(view, name) == [chain.Coin("lcd", "1")]


async def test_an_answer_that_can_not_be_read_harms_no_other() -> None:
    """Each question stands alone."""
    questions = [smart_question(name, {}, Amount) for name in "ab"]
    broken = Question("c", "/path", "", lambda answer: {}[answer])
    found = await Bulk(Node(b"", field(1, b'{"amount":"1"}'), b"x")).ask(  # type: ignore[arg-type]
        [(1, one) for one in (*questions, broken)]
    )
    assert found == [None, Amount("1"), None]
