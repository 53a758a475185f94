"""A client that knows nothing but reflection lists, describes and calls, in plaintext and over TLS."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import PATIENCE, RunningDevnet

pytestmark = pytest.mark.conformance

BALANCE = "cosmos.bank.v1beta1.Query/Balance"
LATEST = "cosmos.base.tendermint.v1beta1.Service/GetLatestBlock"


class Tool:
    """The command line, with the options that reach one server."""

    def __init__(self, binary: Path, address: str, *options: str) -> None:
        self._binary, self._address, self._options = binary, address, options

    def __call__(self, *words: str, data: object = None, headers: tuple[str, ...] = ()) -> str:
        return self._run(words, data, headers, expected=True)

    def refused(self, *words: str, data: object = None, headers: tuple[str, ...] = ()) -> str:
        return self._run(words, data, headers, expected=False)

    def answer(self, method: str, **options: Any) -> Any:
        return json.loads(self(method, **options))

    def _run(self, words: tuple[str, ...], data: object, headers: tuple[str, ...], *, expected: bool) -> str:
        more = [] if data is None else ["-d", json.dumps(data)]
        more += [part for header in headers for part in ("-H", header)]
        command = [str(self._binary), "-connect-timeout", "120", *self._options, *more, self._address, *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert (done.returncode == 0) is expected, done.stdout + done.stderr
        return done.stdout if expected else done.stderr


@pytest.fixture(scope="module", params=["plaintext", "TLS"])
def tool(
    request: pytest.FixtureRequest,
    grpcurl: Path,
    devnet: RunningDevnet,
    guarded_devnet: RunningDevnet,
    certificate: tuple[Path, Path],
) -> Tool:
    if request.param == "plaintext":
        return Tool(grpcurl, devnet.grpc, "-plaintext")
    return Tool(grpcurl, guarded_devnet.grpc, "-cacert", str(certificate[0]))


def test_services_are_listed_and_described_by_reflection(tool: Tool) -> None:
    """The list has every query service and the health service; a method's types can be followed down to a field."""
    services = tool("list").split()
    assert {"cosmos.auth.v1beta1.Query", "cosmos.bank.v1beta1.Query", "cosmos.tx.v1beta1.Service"} <= set(services)
    assert {"cosmwasm.wasm.v1.Query", "leasehold.tax.v2.Query", "leasehold.mint.v1beta1.Query"} <= set(services)
    assert "cosmos.bank.v1beta1.Query.Balance" in tool("list", "cosmos.bank.v1beta1.Query").split()
    assert ".cosmos.bank.v1beta1.QueryBalanceRequest" in tool("describe", "cosmos.bank.v1beta1.Query.Balance")
    assert "string denom = 2;" in tool("describe", "cosmos.bank.v1beta1.QueryBalanceRequest")
    # Every listed service resolves, whatever it is.
    for service in services:
        assert f"service {service.rpartition('.')[2]} {{" in tool("describe", service)


def test_methods_are_called_with_what_reflection_tells(tool: Tool, devnet: RunningDevnet) -> None:
    """A block, a balance now and at an earlier height, an Any that is resolved, and errors with their codes."""
    block = tool.answer(LATEST)
    assert block["sdkBlock"]["header"]["chainId"] == devnet.settings.identity.chain_id
    height = int(block["sdkBlock"]["header"]["height"])
    validators = tool.answer("cosmos.staking.v1beta1.Query/Validators")["validators"]
    keys = {validator["consensusPubkey"]["@type"] for validator in validators}
    assert keys == {"/cosmos.crypto.ed25519.PubKey"}
    asked = {"address": devnet.environment()["RECIPIENT"], "denom": devnet.environment()["DENOM"]}
    past = f"x-cosmos-block-height: {max(1, height - 1)}"
    assert tool.answer(BALANCE, data=asked, headers=(past,))["balance"]["denom"] == asked["denom"]
    refused = tool.refused(BALANCE, data={"address": "nonsense", "denom": asked["denom"]})
    assert "Code: InvalidArgument" in refused
    assert "decoding bech32 failed" in refused
    future = tool.refused(BALANCE, data=asked, headers=("x-cosmos-block-height: 99999999",))
    assert "cannot query with height in the future" in future


def test_a_certificate_is_checked_and_plaintext_refused(
    grpcurl: Path, guarded_devnet: RunningDevnet, certificate: tuple[Path, Path]
) -> None:
    """Without trust in the certificate, or without TLS, nothing is answered; unchecked, it is."""
    assert "certificate" in Tool(grpcurl, guarded_devnet.grpc).refused("list")
    assert Tool(grpcurl, guarded_devnet.grpc, "-plaintext", "-max-time", "5").refused("list")
    assert Tool(grpcurl, guarded_devnet.grpc, "-insecure").answer("grpc.health.v1.Health/Check")["status"] == "SERVING"
