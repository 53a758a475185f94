"""A devnet for third-party clients: its own process, free ports, no history, a block every 200 ms."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.certificates import self_signed
from tests.conformance import clients

from leasehold.core.configuration import load
from leasehold.core.settings import Settings
from leasehold.devnet.genesis.deployment import Deployment
from leasehold.devnet.genesis.document import address, named_accounts

JS = Path(__file__).parent / "js"
_READY = re.compile(r"control (http://[^,]+), rpc (http://[^,]+), lcd (http://[^,]+), grpc (\S+)")
# Nothing here is about speed: a machine that is slow and busy with other things gets there too.
PATIENCE = 300.0


class RunningDevnet:
    """Where a devnet process listens, and what is on it."""

    def __init__(self, settings: Settings, control: str, rpc: str, lcd: str, grpc: str) -> None:
        self.settings = settings
        self.control, self.rpc, self.lcd, self.grpc = control, rpc, lcd, grpc
        self.deployment = Deployment(settings.identity)

    def environment(self) -> dict[str, str]:
        """What the JavaScript clients need to know."""
        identity = self.settings.identity
        protocol = "OSMOSIS-OSMOSIS-USDC_NOBLE"
        contracts = self.deployment.addresses(protocol)
        validator = address(identity, "validator-1")
        from leasehold.core.addresses import decode, encode

        return {
            "RPC": self.rpc,
            "LCD": self.lcd,
            "PREFIX": identity.prefix,
            "DENOM": identity.base_denom,
            "MNEMONIC": named_accounts()["alice"].mnemonic,
            "RECIPIENT": encode(identity.prefix, b"conformance recipient"[:20]),
            "VALIDATOR": encode(identity.prefix + "valoper", decode(validator)[1]),
            "POOL": contracts.lpp,
            "POOL_DENOM": self.deployment.builds[protocol].currencies.lpn.bank_symbol,
            "ORACLE": contracts.oracle,
            "LEASER": contracts.leaser,
        }


def _started(home: Path, profile: str, **settings: str) -> tuple[subprocess.Popen[str], RunningDevnet]:
    chosen = {
        "devnet.history_days": "0",
        "devnet.market": "false",
        "devnet.block_interval_ms": "200",
        "listen.rpc": "0",
        "listen.lcd": "0",
        "listen.grpc": "0",
        "listen.control": "0",
        **settings,
    }
    flags = [part for key, value in chosen.items() for part in ("--set", f"{key}={value}")]
    process = subprocess.Popen(
        [sys.executable, "-m", "leasehold", "--profile", profile, "--home", str(home), *flags, "devnet"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if match := _READY.search(line):
            return process, RunningDevnet(load(profile=profile, flags=chosen).settings, *match.groups())
    process.wait(PATIENCE)
    process.stdout.close()
    raise AssertionError("the devnet did not start:\n" + "".join(lines))


def _running(home: Path, profile: str, **settings: str) -> Iterator[RunningDevnet]:
    process, devnet = _started(home, profile, **settings)
    assert process.stdout is not None
    # Whatever it says later is read too: a full pipe would halt it.
    reader = threading.Thread(target=process.stdout.read, daemon=True)
    reader.start()
    yield devnet
    process.terminate()
    process.wait(PATIENCE)
    reader.join(PATIENCE)
    process.stdout.close()


@pytest.fixture(scope="session")
def devnet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDevnet]:
    yield from _running(tmp_path_factory.mktemp("devnet"), "devnet")


@pytest.fixture(scope="session")
def public_devnet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDevnet]:
    yield from _running(tmp_path_factory.mktemp("devnet-nolus"), "devnet-nolus")


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """PEM files of a self-signed certificate and its key."""
    return self_signed(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="session")
def guarded_devnet(tmp_path_factory: pytest.TempPathFactory, certificate: tuple[Path, Path]) -> Iterator[RunningDevnet]:
    """A devnet that speaks gRPC over TLS and keeps the last fifty blocks; it has sealed a hundred and now rests, so
    that what is kept stays kept."""
    settings = {
        "devnet.pruning_window": "50",
        "devnet.block_interval_ms": "50",
        "devnet.grpc_certificate": str(certificate[0]),
        "devnet.grpc_key": str(certificate[1]),
    }
    for running in _running(tmp_path_factory.mktemp("devnet-guarded"), "devnet", **settings):
        _tell(running, "mine", {"blocks": 100})
        _tell(running, "pause", {})
        yield running


def _tell(devnet: RunningDevnet, word: str, body: dict[str, Any]) -> None:
    headers = {"Content-Type": "application/json"}
    asked = urllib.request.Request(f"{devnet.control}/control/{word}", json.dumps(body).encode(), headers)
    urllib.request.urlopen(asked, timeout=PATIENCE).close()


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """The clients from npm, installed once; the lock decides the versions."""
    found = shutil.which("npm")
    if found is None:
        pytest.skip("needs Node and npm: run `make node` first")
    # Workers of one run share the folder; the first installs, the others wait for it.
    with (JS / ".install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = JS / "node_modules" / ".package-lock.json"
        if not stamp.exists() or stamp.stat().st_mtime < (JS / "package-lock.json").stat().st_mtime:
            command = [found, "ci", "--loglevel=error"]
            done = subprocess.run(command, cwd=JS, capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.fail(f"npm ci failed: {done.stderr[-500:]}")
            stamp.touch()
    return JS / "node_modules"


@pytest.fixture(scope="session")
def cosmpy_python() -> Path:
    """The interpreter of cosmpy's own environment."""
    return clients.cosmpy_python()


@pytest.fixture(scope="session")
def grpcurl() -> Path:
    """The grpcurl binary; its tests are skipped where it can't be had."""
    try:
        return clients.grpcurl()
    except clients.ClientMissing as reason:
        pytest.skip(str(reason))


@pytest.fixture
def run_js(node_modules: Path, tmp_path: Path) -> Callable[[str, dict[str, str]], Any]:
    """Run one of the scripts and return the JSON it prints; bundled, because not every client is a proper module."""

    def run(script: str, environment: dict[str, str]) -> Any:
        bundle = tmp_path / "bundle.cjs"
        esbuild = node_modules / ".bin" / "esbuild"
        subprocess.run(
            [
                esbuild,
                script,
                "--bundle",
                "--platform=node",
                "--format=cjs",
                f"--outfile={bundle}",
                "--log-level=error",
            ],
            cwd=JS,
            check=True,
        )
        return printed(["node", str(bundle)], environment)

    return run


def printed(command: list[str], environment: dict[str, str]) -> Any:
    """The JSON in the last line that a client's program prints; it must end well."""
    settings = {**os.environ, **environment}
    done = subprocess.run(command, cwd=JS, env=settings, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])
