"""What the builders build works: filled in, signed with a wallet and broadcast, it changes the chain as promised.

Wallets of others sign the same in `tests/conformance/test_builders.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from tests.end_to_end.builder_client import IDENTITY, LIVE, PROTOCOL, Client, ask, ready
from tests.end_to_end.builder_lives import cast, deposit_life, lease_life, proposed, stake_life
from tests.end_to_end.conftest import Stack, living

from leasehold.core.addresses import encode


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack whose keepers feed prices and relay packets."""
    with living(tmp_path_factory.mktemp("market"), *LIVE) as running:
        yield running


@pytest.fixture(scope="module")
def alice(market: Stack) -> Client:
    found = Client(market, "alice")
    ready(found)
    return found


@pytest.fixture(scope="module")
def lives(market: Stack, alice: Client) -> Iterator[dict[str, Future[None]]]:
    """Every life with an account of its own, side by side: most of one is waiting for blocks and for packets."""
    number = proposed(alice)
    with ThreadPoolExecutor() as threads:
        yield {
            "lease": threads.submit(lease_life, alice),
            "deposit": threads.submit(deposit_life, Client(market, "bob")),
            "stake": threads.submit(stake_life, Client(market, "carol")),
            "vote": threads.submit(cast, Client(market, "dave"), number),
        }


def test_a_lease_opens_is_repaid_and_closes(lives: dict[str, Future[None]]) -> None:
    """Quote, open, policy, repayment, a partial close and a close at the market, each built here and seen there."""
    lives["lease"].result()


def test_a_deposit_earns_and_comes_back(lives: dict[str, Future[None]]) -> None:
    """A deposit gives receipts whose worth grows, its rewards can be claimed, and a withdrawal pays it back."""
    lives["deposit"].result()


def test_a_stake_accrues_moves_and_is_withdrawn(lives: dict[str, Future[None]]) -> None:
    """Delegation, rewards, redelegation and undelegation, each built here and seen on the chain."""
    lives["stake"].result()


def test_a_vote_is_cast(lives: dict[str, Future[None]]) -> None:
    """A vote built here counts as the voter's on the chain."""
    lives["vote"].result()


def test_a_transaction_that_would_fail_is_refused_when_built(alice: Client) -> None:
    """With a sender, what the chain would refuse is 400 with the chain's reason; without one it is still built."""
    huge = {"protocol": PROTOCOL, "amount": str(10**30)}
    status, answer = ask(alice.stack.url("app_api") + "/api/earn/deposit", {**huge, "sender": alice.address})
    assert status == 400, answer
    assert answer["error"]["field"] == "sender"
    assert "insufficient funds" in answer["error"]["message"]
    assert alice.build("/api/earn/deposit", huge)["messages"]
    stranger = encode(IDENTITY.prefix, b"nobody ever saw this"[:20])
    status, answer = ask(
        alice.stack.url("app_api") + "/api/earn/deposit", {"protocol": PROTOCOL, "amount": "1", "sender": stranger}
    )
    assert (status, answer["error"]["field"]) == (400, "sender")
