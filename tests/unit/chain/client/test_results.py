"""Results of older nodes read as those of today's."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from leasehold.chain.client.results import read_results

PLAIN = [("amount", "5ulsh"), ("spender", "chain1a"), ("empty", "")]


def event(*pairs: tuple[str, str], encoded: bool = False) -> dict[str, Any]:
    def text(value: str) -> str:
        return base64.b64encode(value.encode()).decode() if encoded else value

    return {"type": "coin_spent", "attributes": [{"key": text(key), "value": text(value)} for key, value in pairs]}


def results(**members: Any) -> bytes:
    return msgspec.json.encode({"height": "7", **members})


def pairs(found: Any) -> list[list[tuple[str, str]]]:
    return [[(one.key, one.value) for one in event.attributes] for event in found]


def test_events_before_and_after_the_transactions_become_the_blocks_own() -> None:
    """What began and ended a block is what finalized it, in that order."""
    first, last = event(("mode", "BeginBlock"), ("amount", "1")), event(("amount", "2"))
    read = read_results(results(begin_block_events=[first], end_block_events=[last], txs_results=None))
    assert pairs(read.finalize_block_events) == [[("mode", "BeginBlock"), ("amount", "1")], [("amount", "2")]]


def test_attributes_in_base64_are_read() -> None:
    """Keys and values of a block from before 0.37 come out as text, in transactions and in the block's own events."""
    old = event(*PLAIN, encoded=True)
    old["attributes"][2]["value"] = None
    txs = [{"code": 0, "events": [old]}]
    read = read_results(results(begin_block_events=[old], end_block_events=None, txs_results=txs))
    assert pairs(read.finalize_block_events) == [PLAIN]
    assert pairs((read.txs_results or [])[0].events) == [PLAIN]


def test_plain_keys_that_happen_to_be_base64_stay() -> None:
    """`mode` and `mint` are valid base64, but a block that also has `amount` is written plainly."""
    read = read_results(results(begin_block_events=[event(("mode", "mint"), ("amount", "3"))], end_block_events=[]))
    assert pairs(read.finalize_block_events) == [[("mode", "mint"), ("amount", "3")]]


def test_current_results_are_not_touched() -> None:
    """Where the block's events come in one list, nothing is decoded twice."""
    read = read_results(results(finalize_block_events=[event(("mode", "mint"))]))
    assert pairs(read.finalize_block_events) == [[("mode", "mint")]]
