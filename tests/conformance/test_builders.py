"""Wallets of others sign and broadcast what the application API builds: cosmjs in both signing modes, and cosmpy."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import JS, PATIENCE
from tests.end_to_end.builder_client import IDENTITY, LIVE, Client, ready
from tests.end_to_end.builder_lives import cast, deposit_life, lease_life, proposed, stake_life
from tests.end_to_end.conftest import Stack, living

from leasehold.devnet.genesis.document import named_accounts

pytestmark = pytest.mark.conformance


class ForeignClient(Client):
    """An account whose wallet is a process of another language or library."""

    def __init__(self, stack: Stack, name: str, process: subprocess.Popen[str]) -> None:
        super().__init__(stack, name)
        self._process = process
        assert self._answer() == {"address": self.address}

    def signed(self, built: dict[str, Any], denom: str = "") -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"built": built, "denom": denom}) + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        assert "hash" in answer, (built, answer)
        return self.included(answer["hash"])

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the wallet is gone"
        found: dict[str, Any] = json.loads(line)
        return found


@contextmanager
def speaking(command: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A process that answers lines, ended with the block."""
    process = subprocess.Popen(
        command, env={**os.environ, **environment}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.terminate()
        process.wait(PATIENCE)
        process.stdout.close()


def bundled(node_modules: Path, folder: Path) -> Path:
    """The signer as one file, because not every client from npm is a proper module."""
    made = folder / "signer.cjs"
    options = ["--bundle", "--platform=node", "--format=cjs", f"--outfile={made}", "--log-level=error"]
    subprocess.run([node_modules / ".bin" / "esbuild", "signer.mjs", *options], cwd=JS, check=True)
    return made


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack whose keepers feed prices and relay packets."""
    with living(tmp_path_factory.mktemp("foreign"), *LIVE) as running:
        yield running


@pytest.fixture(scope="module")
def foreign(
    market: Stack, node_modules: Path, cosmpy_python: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Client]]:
    """One account for each wallet."""
    signer = bundled(node_modules, tmp_path_factory.mktemp("signer"))
    python = Path(__file__).with_name("python") / "signer.py"
    node = f"grpc+http://127.0.0.1:{market.ports['grpc']}"
    wallets = {
        "cosmjs direct": ("bob", ["node", str(signer)], {"MODE": "direct", "RPC": market.url("rpc")}),
        "cosmjs amino": ("carol", ["node", str(signer)], {"MODE": "amino", "RPC": market.url("rpc")}),
        "cosmpy": ("dave", [str(cosmpy_python), str(python)], {"NODE": node}),
    }
    shared = {"PREFIX": IDENTITY.prefix, "DENOM": IDENTITY.base_denom, "CHAIN_ID": IDENTITY.chain_id}
    ready(Client(market, "alice"))
    with ExitStack() as running:
        found: dict[str, Client] = {}
        for wallet, (name, command, environment) in wallets.items():
            mnemonic = named_accounts()[name].mnemonic
            process = running.enter_context(speaking(command, {**shared, **environment, "MNEMONIC": mnemonic}))
            found[wallet] = ForeignClient(market, name, process)
        yield found


def test_wallets_of_others_sign_what_is_built(market: Stack, foreign: dict[str, Client]) -> None:
    """With each wallet a lease opens, is repaid and closes, a deposit earns, a stake accrues, a vote counts."""
    number = proposed(Client(market, "alice"))

    def live(wallet: str) -> str:
        client = foreign[wallet]
        cast(client, number)
        stake_life(client)
        deposit_life(client)
        lease_life(client)
        return wallet

    # Side by side: most of a life is waiting for blocks and for packets.
    with ThreadPoolExecutor(len(foreign)) as threads:
        assert set(threads.map(live, foreign)) == {"cosmjs direct", "cosmjs amino", "cosmpy"}
