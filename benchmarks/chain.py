"""The development chain beside a real node: blocks, sends, reverts, queries, memory, start.

    python -m benchmarks.chain [--seconds 3]

Rates are per processor second of the chain's own process, so that the load and other work on the machine disturb
little; what a real node of this family answered on two shared cores stands beside. Exit code 1 when an aim is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from leasehold.chain.registry import registry
from leasehold.core.clock import NANOSECONDS, ManualClock, SystemClock
from leasehold.core.settings import Devnet as DevnetSettings
from leasehold.core.settings import Listen, Settings
from leasehold.devnet.app.context import Context
from leasehold.devnet.chain import Devnet
from leasehold.devnet.consensus.sealing import Sealer, SealMode
from leasehold.devnet.control.clock import DevnetClock
from leasehold.devnet.control.control import Control
from leasehold.devnet.genesis.deployment import Deployment
from leasehold.devnet.genesis.document import address, wallet
from leasehold.devnet.service import serving

NOW = 1_790_000_000
ACCOUNTS = 100_000
# What a real node answered a second, by case.
REAL = {"LCD balance": 1_260, "LCD smart query": 920, "abci_query balance": 1_660, "/status": 10_700}
_missed: list[str] = []


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each query is asked")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.serve:
        asyncio.run(_serve())
        return 0
    for part in (empty_blocks, sends, reverts, standstill, cold_start):
        part()
    queries(given.seconds)
    if _missed:
        print(f"missed: {', '.join(_missed)}")
    return 1 if _missed else 0


def show(name: str, value: str, aim: str, reached: bool) -> None:
    print(f"{name:<34} {value:>20}   {aim}{'' if reached else '  MISSED'}", flush=True)
    if not reached:
        _missed.append(name)


def _chain(folder: str | Path | None = None) -> Devnet:
    clock = ManualClock(NOW * NANOSECONDS)
    devnet = Devnet.open(Settings(), None if folder is None else Path(folder), clock=clock)
    devnet.node.seal()
    return devnet


def empty_blocks(count: int = 200) -> None:
    """Blocks without transactions, on disk, fsyncs grouped as while fast-forwarding; the best of a dozen runs."""
    with tempfile.TemporaryDirectory() as folder:
        devnet = _chain(folder)
        devnet.node.fast_forward(300, NANOSECONDS)

        def measure() -> float:
            started = time.process_time()
            devnet.node.fast_forward(count, NANOSECONDS)
            return time.process_time() - started

        rate = count / min(measure() for _ in range(12))
        devnet.close()
    show("empty blocks sealed a second", f"{rate:,.0f}", "aim 1,000", rate >= 1_000)


def sends(count: int = 1_500) -> None:
    """Signed sends: checked into the mempool, sealed fifty a block, committed and indexed on disk."""
    with tempfile.TemporaryDirectory() as folder:
        devnet = _chain(folder)
        identity = devnet.settings.identity
        owner = wallet("alice", identity.prefix, identity.namespace)
        account = devnet.app.modules.auth.get(devnet.app.context(), owner.address_bytes)
        assert account is not None
        message = devnet.registry.new(
            "cosmos.bank.v1beta1.MsgSend",
            from_address=owner.address,
            to_address=address(identity, "bob"),
            amount=[{"denom": identity.base_denom, "amount": "1"}],
        )
        txs = [
            owner.sign_direct(
                [message],
                fee={identity.base_denom: 500},
                gas=200_000,
                sequence=account.sequence + number,
                account_number=account.number,
                chain_id=devnet.node.chain_id,
            )
            for number in range(count)
        ]
        started = time.process_time()
        for number, tx in enumerate(txs):
            assert devnet.node.submit(tx).code == 0
            if number % 50 == 49:
                sealed = devnet.node.seal(devnet.node.time_ns + NANOSECONDS)
                assert all(result.code == 0 for result in sealed.results.tx_results)
        rate = count / (time.process_time() - started)
        devnet.close()
    show("signed sends executed a second", f"{rate:,.0f}", "aim 300", rate >= 300)


def reverts() -> None:
    """Going back at a hundred thousand accounts, and what those accounts take in memory."""
    with tempfile.TemporaryDirectory() as folder:
        devnet = _chain(folder)
        before = _resident()
        devnet.app.before_next_block(lambda ctx: _populate(devnet, ctx))
        devnet.node.seal(devnet.node.time_ns + NANOSECONDS)
        # What the block itself needed goes with the next ones.
        devnet.node.fast_forward(300, NANOSECONDS)
        grown = (_resident() - before) / 2**20
        clock = DevnetClock(ManualClock(devnet.node.time_ns))
        control = Control(devnet, Sealer(devnet.node, mode=SealMode.DEMAND), clock)
        taken = control.snapshot()
        spent = []
        for _ in range(20):
            control.fund("bob", ["1LSH"])
            control.mine(4, 5)
            started = time.perf_counter()
            control.revert(taken.id)
            spent.append(time.perf_counter() - started)
        keys = len(devnet.app.state.head)
        devnet.close()
    median = sorted(spent)[len(spent) // 2] * 1000
    show(f"revert of 5 blocks, {keys:,} keys", f"{median:.1f} ms", "aim 10 ms", median <= 10)
    show(f"memory of {ACCOUNTS:,} accounts", f"{grown:.0f} MiB", "", True)


def standstill() -> None:
    """How long others wait for their turn while all of a hundred thousand accounts are counted, and then listed."""
    devnet = _chain()
    devnet.app.before_next_block(lambda ctx: _populate(devnet, ctx))
    devnet.node.seal(devnet.node.time_ns + NANOSECONDS)
    path = "/cosmos.auth.v1beta1.Query/Accounts"
    for what, page in (("counted", {"limit": 1, "count_total": True}), ("listed", {"limit": 20_000})):
        request = devnet.registry.method_by_path[path].request_type(pagination=page)
        longest = max(asyncio.run(_longest_turn(devnet, path, request)) for _ in range(3)) * 1000
        show(f"longest turn, accounts are {what}", f"{longest:.1f} ms", "aim 50 ms", longest <= 50)
    devnet.close()


async def _longest_turn(devnet: Devnet, path: str, request: Any) -> float:
    asked = asyncio.create_task(devnet.app.queries.answer(path, request, devnet.node.height))
    longest, last = 0.0, time.process_time()
    while not asked.done():
        await asyncio.sleep(0)
        longest, last = max(longest, (now := time.process_time()) - last), now
    await asked
    return longest


def _populate(devnet: Devnet, ctx: Context) -> None:
    store, bank, auth = ctx.store, devnet.app.modules.bank, devnet.app.modules.auth
    denom = devnet.settings.identity.base_denom
    assert store is not None
    for number in range(ACCOUNTS):
        owner = number.to_bytes(20, "big")
        auth.create(ctx, owner)
        bank._set(ctx, owner, denom, 1_000_000 + number)


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def cold_start() -> None:
    """From nothing to the ready line of a fresh chain with its contracts, processes and imports included."""
    spent, worked = [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            reader, writer = os.pipe()
            ports = [part for name in ("rpc", "lcd", "grpc", "control") for part in ("--set", f"listen.{name}=0")]
            command = [sys.executable, "-m", "leasehold", "devnet", "--home", folder, "--ready-fd", str(writer)]
            options = [*ports, "--set", "devnet.history_days=0"]
            started = time.perf_counter()
            with subprocess.Popen(
                [*command, *options], pass_fds=(writer,), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ) as process:
                os.close(writer)
                with os.fdopen(reader) as lines:
                    assert lines.readline(), "the devnet did not start"
                spent.append(time.perf_counter() - started)
                worked.append(_processor_seconds(process.pid))
                process.terminate()
    show("cold start", f"{min(spent):.2f} s", f"aim 2 s (processor {min(worked):.2f} s)", min(worked) < 2)


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# Queries: the chain in a process of its own, asked over a few connections that never wait.


async def _serve() -> None:
    settings = replace(
        Settings(),
        listen=Listen(rpc=0, lcd=0, grpc=0, control=0),
        devnet=DevnetSettings(market=False, history_days=0, seal="demand"),
    )
    devnet = Devnet.open(settings, None, clock=SystemClock())
    for _ in range(3):
        devnet.node.seal()
    async with serving(devnet, settings) as at:
        print(at.rpc, at.lcd, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)


class _Load(asyncio.Protocol):
    """Keeps a number of requests under way on one connection and counts the answers."""

    def __init__(self, request: bytes, depth: int) -> None:
        self._request = request
        self._depth = depth
        self._tail = b""
        self._transport: Any = None
        self.answers = 0
        self.good = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._transport.write(self._request * self._depth)

    def data_received(self, data: bytes) -> None:
        # A head may be cut in two: what is left of the last chunk is looked at again.
        joined = self._tail + data
        answered = joined.count(b"HTTP/1.1 ")
        self.good += joined.count(b"HTTP/1.1 200")
        self.answers += answered
        self._tail = joined[-8:] if b"HTTP/1.1 " not in joined[-8:] else b""
        if answered:
            self._transport.write(self._request * answered)


def queries(seconds: float) -> None:
    """Requests a second, by the processor time of the chain's process."""
    settings = Settings()
    owner = address(settings.identity, "alice")
    types = registry(settings.identity.namespace)
    balance = types.new(
        "cosmos.bank.v1beta1.QueryBalanceRequest", address=owner, denom=settings.identity.base_denom
    ).SerializeToString()
    leaser = Deployment(settings.identity).addresses("OSMOSIS-OSMOSIS-USDC_NOBLE").leaser
    smart = base64.b64encode(b'{"config":{}}').decode()
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.chain", "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdin is not None
    rpc, lcd = process.stdout.readline().split()
    cases = {
        "LCD balance": (lcd, f"/cosmos/bank/v1beta1/balances/{owner}/by_denom?denom={settings.identity.base_denom}"),
        "LCD smart query": (lcd, f"/cosmwasm/wasm/v1/contract/{leaser}/smart/{smart}"),
        "abci_query balance": (rpc, f'/abci_query?path="/cosmos.bank.v1beta1.Query/Balance"&data=0x{balance.hex()}'),
        "/status": (rpc, "/status"),
    }
    try:
        for name, (url, path) in cases.items():
            rate, wall = asyncio.run(_ask(process.pid, url, path, seconds))
            text = f"{rate:,.0f}"
            show(f"{name} a second", text, f"a real node: {REAL[name]:,} (by the clock {wall:,.0f})", rate > REAL[name])
    finally:
        process.stdin.write("\n")
        process.stdin.close()
        process.wait(10)


async def _ask(pid: int, url: str, path: str, seconds: float) -> tuple[float, float]:
    host, _, port = url.removeprefix("http://").partition(":")
    request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    loop = asyncio.get_running_loop()
    made = [await loop.create_connection(lambda: _Load(request, 4), host, int(port)) for _ in range(8)]
    loads = [load for _, load in made]
    await asyncio.sleep(0.5)
    before, processor = sum(load.answers for load in loads), _processor_seconds(pid)
    started = time.perf_counter()
    await asyncio.sleep(seconds)
    count = sum(load.answers for load in loads) - before
    spent, wall = _processor_seconds(pid) - processor, time.perf_counter() - started
    for transport, load in made:
        assert load.good > 0, f"{path} is not answered"
        transport.abort()
    return count / max(spent, 0.01), count / wall


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
