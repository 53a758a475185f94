"""cosmjs, unmodified, works against the devnet: connect, query, sign both ways, broadcast, search, subscribe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.conformance


def test_cosmjs_uses_the_devnet_like_any_chain(devnet: Any, run_js: Callable[[str, dict[str, str]], Any]) -> None:
    """Every step of a wallet's and an explorer's day succeeds, with direct and amino signatures."""
    seen = run_js("stargate.mjs", devnet.environment())
    assert seen["client"] is True
    assert seen["network"] == devnet.settings.identity.chain_id == seen["genesis"]
    assert seen["missing"] is None
    assert seen["unknownTx"] is None
    for mode in ("direct", "amino"):
        assert seen[mode]["gas"]
        assert seen[mode]["code"] == 0
        assert seen[mode]["found"]
    assert seen["balance"] == "3000"
    assert seen["delegation"] == "5000000"
    assert seen["lpn"] == "USDC_NOBLE"
    assert seen["deposit"] is True
    assert seen["receipts"] == "7000000"
    assert seen["refused"] is True
    assert seen["subscribed"] is True


def test_the_public_client_library_works_unmodified(
    public_devnet: Any, run_js: Callable[[str, dict[str, str]], Any]
) -> None:
    """The protocol family's own JS client reads contracts and sends under the public identity."""
    environment = public_devnet.environment()
    seen = run_js("nolus.mjs", environment)
    assert seen["chainId"] == public_devnet.settings.identity.chain_id
    assert seen["prefix"] == "nolus"
    assert seen["sent"] == 0
    assert seen["base"] == "USDC_NOBLE" == seen["lpn"]
    assert seen["leases"] == []
