"""A node that keeps fifty blocks answers older heights, on each surface, with the words of a real pruned node."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.conformance.conftest import PATIENCE, RunningDevnet
from websockets.sync.client import connect

from leasehold.chain.registry import registry

pytestmark = pytest.mark.conformance

HEIGHT = "x-cosmos-block-height"
NO_BLOCK = r"height 5 is not available, lowest height is \d+"
NO_STATE = (
    r"failed to load state at height 5; version mismatch on immutable IAVL tree; version does not exist\. "
    r"Version has either been pruned, or is for a future block height \(latest height: \d+\)"
)


def _get(url: str, **headers: str) -> tuple[int, Any]:
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.load(refused)


@pytest.fixture
def pruned(guarded_devnet: RunningDevnet) -> RunningDevnet:
    """The devnet, whose height 5 is out of its window."""
    _, status = _get(f"{guarded_devnet.rpc}/status")
    assert int(status["result"]["sync_info"]["earliest_block_height"]) > 5
    return guarded_devnet


@pytest.mark.parametrize("method", ["block", "block_results", "header", "commit", "validators", "consensus_params"])
def test_rpc_names_the_lowest_height(pruned: RunningDevnet, method: str) -> None:
    """Each method with a height is an internal error with status 500 for GET."""
    status, answer = _get(f"{pruned.rpc}/{method}?height=5")
    assert (status, answer["error"]["code"]) == (500, -32603)
    assert re.fullmatch(NO_BLOCK, answer["error"]["data"])


def test_the_websocket_says_the_same(pruned: RunningDevnet) -> None:
    """A block that is gone is an error with the request's id."""
    with connect(pruned.rpc.replace("http", "ws") + "/websocket") as socket:
        socket.send(json.dumps({"jsonrpc": "2.0", "id": 7, "method": "block", "params": {"height": "5"}}))
        answer = json.loads(socket.recv(PATIENCE))
    assert answer["id"] == 7
    assert re.fullmatch(NO_BLOCK, answer["error"]["data"])


def test_abci_query_says_the_state_is_gone(pruned: RunningDevnet) -> None:
    """Code 38 of the SDK, at height 0."""
    _, answer = _get(f'{pruned.rpc}/abci_query?path="/cosmos.bank.v1beta1.Query/Params"&height=5')
    response = answer["result"]["response"]
    assert (response["code"], response["codespace"]) == (38, "sdk")
    assert re.fullmatch(NO_STATE + ": not found", response["log"])


def test_the_lcd_says_the_state_is_gone(pruned: RunningDevnet) -> None:
    """A pinned read is 500 with code 2; the recent past is answered, and so is the present."""
    path = f"{pruned.lcd}/cosmos/bank/v1beta1/params"
    status, answer = _get(path, **{HEIGHT: "5"})
    assert (status, answer["code"]) == (500, 2)
    assert re.fullmatch("codespace sdk code 38: not found: " + NO_STATE, answer["message"])
    _, latest = _get(f"{pruned.rpc}/status")
    recent = int(latest["result"]["sync_info"]["latest_block_height"]) - 3
    assert _get(path, **{HEIGHT: str(recent)})[0] == 200
    status, answer = _get(f"{pruned.lcd}/cosmos/base/tendermint/v1beta1/blocks/5")
    assert (status, answer["code"]) == (500, 2)
    assert re.fullmatch(NO_BLOCK, answer["message"])


def test_grpc_says_the_state_is_gone(pruned: RunningDevnet, certificate: tuple[Path, Path]) -> None:
    """A pinned call over TLS is UNKNOWN with the same words; the present is answered."""
    trust = grpc.ssl_channel_credentials(certificate[0].read_bytes())
    method = registry().method_by_path["/cosmos.bank.v1beta1.Query/Params"]
    with grpc.secure_channel(pruned.grpc, trust) as channel:
        call = channel.unary_unary(method.path)
        assert method.response_type.FromString(call(b"", timeout=PATIENCE))
        with pytest.raises(grpc.RpcError) as refused:
            call(b"", metadata=((HEIGHT, "5"),), timeout=PATIENCE)
    assert refused.value.code() == grpc.StatusCode.UNKNOWN
    assert re.fullmatch("codespace sdk code 38: not found: " + NO_STATE, refused.value.details())
