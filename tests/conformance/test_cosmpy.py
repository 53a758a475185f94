"""cosmpy, unmodified and with the protobuf it pins, works against the devnet over gRPC and over the LCD."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conformance.conftest import RunningDevnet, printed

from leasehold.core.addresses import encode
from leasehold.devnet.genesis.document import named_accounts

pytestmark = pytest.mark.conformance

SESSION = Path(__file__).parent / "python" / "session.py"


def _environment(devnet: RunningDevnet, account: str) -> dict[str, str]:
    """What a session is told; nobody else sends to its recipient."""
    recipient = encode(devnet.settings.identity.prefix, f"cosmpy's {account}".encode().ljust(20))
    return {
        **devnet.environment(),
        "RECIPIENT": recipient,
        "MNEMONIC": named_accounts()[account].mnemonic,
        "CHAIN_ID": devnet.settings.identity.chain_id,
    }


@pytest.mark.parametrize(("surface", "account"), [("grpc", "bob"), ("lcd", "carol")])
def test_cosmpy_uses_the_devnet_like_any_chain(
    surface: str, account: str, devnet: RunningDevnet, cosmpy_python: Path
) -> None:
    """It connects, queries, simulates, signs, broadcasts, searches, decodes, stakes and calls a contract."""
    url = f"grpc+http://{devnet.grpc}" if surface == "grpc" else f"rest+{devnet.lcd}"
    environment = _environment(devnet, account)
    seen = printed([str(cosmpy_python), str(SESSION), url], environment)
    assert seen["node"] == "leasehold"
    assert seen["chain"] == devnet.settings.identity.chain_id
    assert seen["height"] >= seen["first"] == 1
    assert seen["max_gas"] == -1
    assert environment["DENOM"] in seen["denoms"]
    assert seen["unknown"] is True
    assert (seen["code"], seen["received"], seen["transfer"]) == (0, 1234, environment["RECIPIENT"])
    assert seen["gas"][0] < seen["gas"][1]
    assert seen["decoded"] == ["é <b> & c", environment["RECIPIENT"], "1234"]
    assert seen["hash"] in seen["found"]
    assert seen["simulated"] > 0
    assert seen["repeated"] == "BroadcastError"
    assert environment["VALIDATOR"] in seen["validators"]
    assert (seen["staked"], seen["unbonding"]) == (5_000_000, 1_000_000)
    assert seen["lpn"] == "USDC_NOBLE"
    assert seen["deposit"] is True
    assert seen["receipts"] == "7000000"
