"""The messages of an account: which, in what order, page by page."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest
from tests.unit.data_api.facts import Facts, instant
from tests.unit.data_api.served_history import Client, History

from leasehold.core.errors import InvalidInput
from leasehold.data_api.txs import CALLS, CONTRACT, EARN, POSITION, STAKING, TRANSFER, chosen

CONTRACT_A = "a" * 20


def _messages(facts: Facts, account: str, *kinds: int) -> list[tuple[Any, ...]]:
    found = {row[2:] for row in facts.truth.account_messages if row[0] == account and (not kinds or row[1] in kinds)}
    return sorted(found, reverse=True)


def _places(rows: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [(row["block"], row["index"]) for row in rows]


def test_everything_newest_first(client: Client, history: History) -> None:
    """All messages that involve the account, with the transaction they were in."""
    facts = Facts(history.scenario)
    account = history.scenario.users[1]
    rows = client.json(f"/api/txs?address={account}&limit=100")
    expected = _messages(facts, account)
    assert _places(rows) == [(height, message) for height, _, message, _ in expected][:100]
    known = {(row[0], row[1], row[2], row[3]): row for row in facts.truth.messages}
    for row, place in zip(rows, expected, strict=False):
        _, _, _, _, kind, sender, receiver = known[place]
        assert (row["type"], row["from"]) == (kind, sender)
        assert row["to"] == ("" if kind.endswith("MsgVote") else receiver)
        assert row["timestamp"] == instant(facts.times[row["block"]])
        assert b64decode(row["value"], validate=True)
        assert row["tx_hash"] == row["tx_hash"].upper()
    assert {row["code"] for row in rows} >= {0}


def test_pages_are_stable(client: Client, history: History) -> None:
    """Pages put together are the whole, and nothing is doubled."""
    account = history.scenario.users[2]
    whole = client.json(f"/api/txs?address={account}&limit=100")
    pages = [
        row
        for skip in range(0, len(whole), 7)
        for row in client.json(f"/api/txs?address={account}&skip={skip}&limit=7")
    ]
    assert pages[: len(whole)] == whole
    assert client.json(f"/api/txs?address={account}&limit=0") == []
    assert client.json(f"/api/txs?address={account}&skip=100000000000000000") == []
    assert len(client.json(f"/api/txs?address={account}")) == 10


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("transfers", (TRANSFER,)),
        ("staking", (STAKING,)),
        ("positions", (POSITION,)),
        ("earn", (EARN,)),
        ("transfers,staking", (TRANSFER, STAKING)),
        ("", ()),
    ],
)
def test_filters_add_up(client: Client, history: History, name: str, kinds: tuple[int, ...]) -> None:
    """Each filter selects its kind of messages, several select all of theirs."""
    facts = Facts(history.scenario)
    account = history.scenario.users[0]
    rows = client.json(f"/api/txs?address={account}&limit=100&filter={name}")
    assert _places(rows) == [(h, m) for h, _, m, _ in _messages(facts, account, *kinds)][:100]


def test_to_is_an_instant_or_contracts(client: Client, history: History) -> None:
    """A timestamp bounds from above, inclusively; contracts keep only what was sent to them."""
    facts = Facts(history.scenario)
    account = history.scenario.users[0]
    whole = client.json(f"/api/txs?address={account}&limit=100")
    middle = whole[len(whole) // 2]["timestamp"]
    expected = [row for row in _messages(facts, account) if instant(facts.times[row[0]]) <= middle]
    assert (
        _places(client.json(f"/api/txs?address={account}&limit=100&to={middle}"))
        == [(h, m) for h, _, m, _ in expected][:100]
    )
    assert client.json(f"/api/txs?address={account}&to=1999-01-01T00:00:00Z") == []
    lease = next(row["to"] for row in whole if row["type"].endswith("MsgExecuteContract"))
    for path in (f"to={lease}", f"to={lease}&filter=positions_ids", f"to={lease}&filter=positions"):
        rows = client.json(f"/api/txs?address={account}&limit=100&{path}")
        assert rows
        assert {row["to"] for row in rows} == {lease}
    both = client.json(f"/api/txs?address={account}&limit=100&to={lease}&filter=transfers,positions_ids")
    assert {row["to"] for row in both if row["type"].endswith("MsgExecuteContract")} == {lease}
    assert any(row["type"].endswith("MsgSend") for row in both)


def test_an_account_without_leases_has_no_position_messages(client: Client, history: History) -> None:
    """`filter=positions` of a lender is empty, not everything."""
    assert client.json(f"/api/txs?address={history.scenario.lenders[0]}&filter=positions") == []


def test_choices() -> None:
    """What `filter` and `to` mean together."""
    assert chosen("", "").kinds == (1, 2, 3, 4, 5, 6)
    assert chosen("", CONTRACT_A).bound == CALLS
    assert chosen("positions_ids", CONTRACT_A).kinds == ()
    assert chosen("earn,positions_ids", CONTRACT_A).bound == (POSITION, CONTRACT)
    assert chosen("earn", "2026-01-01T00:00:00Z").until == "2026-01-01T00:00:00Z"
    for filters, to in (
        ("bogus", ""),
        ("positions_ids", ""),
        (",".join(f"f{n}" for n in range(11)), ""),
        ("positions_ids", "2026-01-01T00:00:00Z"),
        ("", ",".join(f"c{n}" for n in range(101))),
    ):
        with pytest.raises(InvalidInput):
            chosen(filters, to)
