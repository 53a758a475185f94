"""The transaction service: simulating, sending, finding and translating transactions."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.devnet.open_chain import OpenChain, open_chain, shared_chain

from leasehold.chain.comet.blocks import tx_hash
from leasehold.devnet.app.errors import Status, StatusError
from leasehold.devnet.services.transactions import GivenTransaction

SERVICE = "/cosmos.tx.v1beta1.Service/"
SYNC, ASYNC, BLOCK = 2, 3, 1


@pytest.fixture
def chain() -> OpenChain:
    """A chain of one's own: these tests send."""
    return open_chain(2)


def refusal(chain: OpenChain, method: str, **fields: Any) -> StatusError:
    with pytest.raises(StatusError) as caught:
        chain.call(SERVICE + method, **fields)
    return caught.value


def test_a_simulation_gives_gas_events_without_index_and_changes_nothing(chain: OpenChain) -> None:
    """A dry run shows what would happen; account and state stay as they were."""
    before = chain.sequence(), chain.devnet.app.state.app_hash
    answer = chain.call(SERVICE + "Simulate", tx_bytes=chain.send(5))
    assert answer.gas_info.gas_used > 0
    assert "transfer" in {event.type for event in answer.result.events}
    assert not any(attribute.index for event in answer.result.events for attribute in event.attributes)
    assert (chain.sequence(), chain.devnet.app.state.app_hash) == before


def test_a_failed_simulation_names_the_original_place() -> None:
    """The text ends with where the original's source wrapped the error, and the gas used."""
    chain = shared_chain()
    error = refusal(chain, "Simulate", tx_bytes=chain.send(5, sequence=77))
    assert error.status is Status.UNKNOWN
    assert "expected 0, got 77: incorrect account sequence [cosmos/cosmos-sdk@" in error.message
    assert "/x/auth/ante/sigverify.go:" in error.message
    assert error.message.endswith("'")
    assert refusal(chain, "Simulate").message == "empty txBytes is not allowed"


def test_sending_twice_is_told_by_code_nineteen(chain: OpenChain) -> None:
    """The second of two equal transactions is in the cache already: a code with an empty log."""
    raw = chain.send(5)
    first = chain.call(SERVICE + "BroadcastTx", tx_bytes=raw, mode=SYNC).tx_response
    assert (first.code, first.txhash) == (0, tx_hash(raw).hex().upper())
    second = chain.call(SERVICE + "BroadcastTx", tx_bytes=raw, mode=SYNC).tx_response
    assert (second.code, second.codespace, second.raw_log) == (19, "sdk", "")


def test_what_broadcasts_refuse(chain: OpenChain) -> None:
    """No bytes, or a mode that waits for a block."""
    assert refusal(chain, "BroadcastTx", mode=SYNC).message == "invalid empty tx"
    assert "unsupported return type" in refusal(chain, "BroadcastTx", tx_bytes=b"x", mode=BLOCK).message
    answer = chain.devnet.app.queries.call(SERVICE + "BroadcastTx", GivenTransaction(b"", SYNC), 2)
    assert answer.tx_response.raw_log == "must contain at least one message: invalid request"
    assert chain.call(SERVICE + "BroadcastTx", tx_bytes=b"garbage", mode=ASYNC).tx_response.code == 0


def test_a_delivered_transaction_is_found_by_hash_query_and_block(chain: OpenChain) -> None:
    """All three ways give the same transaction; a case of the hash does not matter."""
    raw = chain.send(5, memo="found")
    chain.devnet.node.seal(txs=[raw])
    digest = tx_hash(raw).hex()
    found = chain.call(SERVICE + "GetTx", hash=digest)
    assert found.tx.body.memo == "found"
    assert (found.tx_response.height, found.tx_response.code) == (3, 0)
    listed = chain.call(SERVICE + "GetTxsEvent", query=f"tx.hash='{digest.upper()}'")
    assert [entry.txhash for entry in listed.tx_responses] == [digest.upper()]
    assert listed.total == 1
    block = chain.call(SERVICE + "GetBlockWithTxs", height=3)
    assert [tx.body.memo for tx in block.txs] == ["found"]
    assert block.block.header.height == 3


@pytest.mark.parametrize(
    ("digest", "status", "text"),
    [
        ("", Status.INVALID_ARGUMENT, "tx hash cannot be empty"),
        ("zz", Status.UNKNOWN, "encoding/hex: invalid byte: U+007A 'z'"),
        ("abc", Status.UNKNOWN, "encoding/hex: odd length hex string"),
        ("00" * 32, Status.NOT_FOUND, "tx not found: " + "00" * 32),
    ],
)
def test_hashes_that_find_nothing(digest: str, status: Status, text: str) -> None:
    """Each kind of bad hash has its own text."""
    error = refusal(shared_chain(), "GetTx", hash=digest)
    assert (error.status, error.message) == (status, text)


def test_searches_refuse_bad_queries_and_pages_past_the_end() -> None:
    """Errors of a search are internal ones, with the parser's text or the range of pages."""
    chain = shared_chain()
    assert refusal(chain, "GetTxsEvent").message == "query cannot be empty"
    assert refusal(chain, "GetTxsEvent", query="hello").message.startswith("failed to search for txs: offset")
    error = refusal(chain, "GetTxsEvent", query="tx.height>0", page=9, limit=5)
    assert error.message == "failed to search for txs: page should be within [1, 1] range, given 9"
    assert error.status is Status.INTERNAL


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("tx.hash='xyz'", "failed to search for txs: error during searching for a hash in the query: encoding/hex: "),
        (f"a.b='{'x' * 600}'", "failed to search for txs: maximum query length exceeded"),
    ],
)
def test_searches_that_cannot_be_made(query: str, text: str) -> None:
    """What the indexer refuses is told in its words."""
    assert refusal(shared_chain(), "GetTxsEvent", query=query).message.startswith(text)


async def test_a_search_on_disk_is_made_in_another_thread(tmp_path: Path) -> None:
    """The loop goes on while it searches; the handler finds the outcome and leaves nothing behind."""
    chain = open_chain(2, tmp_path)
    raw = chain.send(5)
    chain.devnet.node.seal(txs=[raw])
    path = SERVICE + "GetTxsEvent"
    queries = chain.devnet.app.queries
    threads: list[str] = []
    search = queries.lengthy[path]

    def watched(request: Any) -> Callable[[], None]:
        work = search(request)
        assert work is not None

        def noted() -> None:
            threads.append(threading.current_thread().name)
            work()

        return noted

    queries.lengthy[path] = watched
    request = chain.method(path).request_type(query="tx.height=3")
    assert (await queries.answer(path, request, 3)).total == 1
    with pytest.raises(StatusError, match="offset"):
        await queries.answer(path, chain.method(path).request_type(query="hello"), 3)
    assert len(threads) == 2
    assert threading.current_thread().name not in threads
    assert search(request) is not None
    chain.devnet.close()


def test_blocks_with_transactions_have_bounds() -> None:
    """Heights beyond the tip and offsets past the end are told with their numbers."""
    chain = shared_chain()
    assert (
        "requested height 99 but height must not be less than 1" in refusal(chain, "GetBlockWithTxs", height=99).message
    )
    page = chain.devnet.registry.new("cosmos.base.query.v1beta1.PageRequest", offset=3, limit=1)
    assert not chain.call(SERVICE + "GetBlockWithTxs", height=2, pagination=page).txs
    filled = open_chain(2)
    filled.devnet.node.seal(txs=[filled.send(1), filled.send(2, sequence=filled.sequence()[1] + 1)])
    error = refusal(filled, "GetBlockWithTxs", height=3, pagination=page)
    assert error.message.startswith("codespace sdk code 18: invalid request: out of range: cannot paginate 2 txs")


def test_transactions_are_translated_both_ways() -> None:
    """Bytes to message and back; StdTx JSON to amino binary and back."""
    chain = shared_chain()
    raw = chain.send(7)
    decoded = chain.call(SERVICE + "TxDecode", tx_bytes=raw).tx
    assert chain.call(SERVICE + "TxEncode", tx=decoded).tx_bytes == raw
    value = {
        "msg": [
            {
                "type": "cosmos-sdk/MsgSend",
                "value": {
                    "from_address": chain.sender.address,
                    "to_address": chain.sender.address,
                    "amount": [{"denom": "ulsh", "amount": "1"}],
                },
            }
        ],
        "fee": {"amount": [], "gas": "200000"},
        "signatures": None,
        "memo": "",
        "timeout_height": "0",
    }
    text = json.dumps({"type": "cosmos-sdk/StdTx", "value": value})
    binary = chain.call(SERVICE + "TxEncodeAmino", amino_json=text).amino_binary
    again = json.loads(chain.call(SERVICE + "TxDecodeAmino", amino_binary=binary).amino_json)
    assert again["value"]["msg"] == value["msg"]
    assert "DEADBEEF" in refusal(chain, "TxDecodeAmino", amino_binary=b"\xde\xad\xbe\xef").message
    assert "cannot parse disfix JSON" in refusal(chain, "TxEncodeAmino", amino_json="{bad").message


@given(st.binary(max_size=80))
def test_random_bytes_are_refused_and_change_nothing(raw: bytes) -> None:
    """Whatever is sent as a transaction, simulating and decoding end in an answer or a status."""
    chain = shared_chain()
    before = chain.devnet.app.state.app_hash
    for method in ("Simulate", "TxDecode", "TxDecodeAmino"):
        name = "amino_binary" if method == "TxDecodeAmino" else "tx_bytes"
        with suppress(StatusError):
            chain.call(SERVICE + method, **{name: raw})
    assert chain.devnet.app.state.app_hash == before


def test_truncated_transactions_are_parse_errors() -> None:
    """Every prefix of a good transaction is refused with a text, none crashes."""
    chain = shared_chain()
    raw = chain.send(7)
    for end in range(1, len(raw)):
        with pytest.raises(StatusError, match=r"\S"):
            chain.call(SERVICE + "Simulate", tx_bytes=raw[:end])


@pytest.mark.parametrize("depth", [5, 50, 500])
def test_messages_nested_in_any_are_bounded(depth: int) -> None:
    """A message that packs itself again and again is refused, however deep."""
    chain = shared_chain()
    types = chain.devnet.registry
    inner: Any = types.new("cosmos.authz.v1beta1.MsgExec", grantee=chain.sender.address)
    for _ in range(depth):
        inner = types.new("cosmos.authz.v1beta1.MsgExec", grantee=chain.sender.address, msgs=[types.pack(inner)])
    number, sequence = chain.sequence()
    raw = chain.sender.sign_direct(
        [inner], fee={}, gas=200_000, sequence=sequence, account_number=number, chain_id=chain.devnet.node.chain_id
    )
    error = refusal(chain, "Simulate", tx_bytes=raw)
    assert error.status is Status.UNKNOWN


@pytest.mark.parametrize("amount", ["9" * 80, "-1", "1e9", "0x10", "١٢", ""])
def test_giant_and_strange_amounts_are_refused(amount: str) -> None:
    """An amount that is no number within 256 bits never reaches the bank."""
    chain = shared_chain()
    types, address = chain.devnet.registry, chain.sender.address
    coins = [{"denom": chain.denom, "amount": amount}]
    message = types.new("cosmos.bank.v1beta1.MsgSend", from_address=address, to_address=address, amount=coins)
    number, sequence = chain.sequence()
    raw = chain.sender.sign_direct(
        [message], fee={}, gas=200_000, sequence=sequence, account_number=number, chain_id=chain.devnet.node.chain_id
    )
    assert refusal(chain, "Simulate", tx_bytes=raw).status is Status.UNKNOWN
