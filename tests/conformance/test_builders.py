"""cosmjs signs and broadcasts what the application API builds, in both signing modes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.end_to_end.conftest import Stack
from tests.end_to_end.test_builders import LIVE, PROTOCOL, Client, ask, until

from leasehold.core.addresses import decode, encode
from leasehold.core.configuration import load
from leasehold.devnet.genesis.deployment import Deployment
from leasehold.devnet.genesis.document import address, named_accounts

pytestmark = pytest.mark.conformance
IDENTITY = load(profile="devnet").settings.identity


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    quiet = ("devnet.market=false", *(setting for setting in LIVE if not setting.startswith("devnet.")))
    running = Stack(tmp_path_factory.mktemp("builders"), *quiet)
    try:
        running.wait_for("all ready")
        yield running
    finally:
        if running.process.poll() is None:
            running.stop()


def _operator(name: str) -> str:
    return encode(f"{IDENTITY.prefix}valoper", decode(address(IDENTITY, name))[1])


def test_cosmjs_broadcasts_what_is_built(stack: Stack, run_js: Callable[[str, dict[str, str]], Any]) -> None:
    """Deposits, withdrawals and staking built here pass through cosmjs with direct and amino signatures."""
    reader = Client(stack, "alice")
    for path in ("/api/currencies", "/api/fees/gas-config"):
        until(lambda path=path: ask(stack.url("app_api") + path)[0] == 200)
    until(lambda: f"USDC_NOBLE@{PROTOCOL}" in reader.get("/api/currencies")["currencies"])
    deployment = Deployment(IDENTITY)
    seen = run_js(
        "builders.mjs",
        {
            "APP": stack.url("app_api"),
            "RPC": stack.url("rpc"),
            "PREFIX": IDENTITY.prefix,
            "DENOM": IDENTITY.base_denom,
            "MNEMONIC": named_accounts()["bob"].mnemonic,
            "VALIDATOR": _operator("validator-1"),
            "OTHER_VALIDATOR": _operator("validator-2"),
            "PROTOCOL": PROTOCOL,
            "POOL": deployment.addresses(PROTOCOL).lpp,
            "POOL_DENOM": deployment.builds[PROTOCOL].currencies.lpn.bank_symbol,
        },
    )
    for mode in ("direct", "amino"):
        assert seen[mode]["deposited"] is True
        assert seen[mode]["withdrawn"] is True
        assert seen[mode]["receipts"] == "0"
        assert (seen[mode]["delegated"], seen[mode]["staked"], seen[mode]["undelegated"]) == (0, 0, 0)
        assert seen[mode]["claimed"] is True
    assert seen["direct"]["moved"] == 0
