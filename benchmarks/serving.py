"""Snapshots against nginx: one worker each, the same bytes, interleaved in one run, the load on the other core.

    python -m benchmarks.serving [--seconds 1] [--rounds 5] [--connections 32] [--tuned-nginx]

Prints requests per second and the ratio for 2, 20 and 100 KB bodies, plain, with a browser's Accept-Encoding (nginx
has a precompressed gzip beside each file, the best it can be given), and for 304s. The column `cpu` is the same ratio
in processor time per request, which other work on the machine disturbs less. Exit code 1 when a ratio is below 0.8
of nginx or 304s are slower than 200s.

nginx runs with Debian's settings for static files and without an access log; `--tuned-nginx` also gives it a cache of
open files, which Debian's settings don't have and which saves it an open, a stat and a close per request.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SIZES = (2, 20, 100)
BROWSER = "gzip, deflate, br, zstd"
TARGET = 0.8
SERVER_CORE, LOAD_CORE = "0", "1"


def body_of(kilobytes: int) -> bytes:
    """JSON of about that size that compresses as real answers do."""
    source = random.Random(kilobytes)
    rows = []
    size = 0
    while size < kilobytes * 1024:
        row = {
            "ticker": source.choice("ABCDEF") * 4,
            "price": f"{source.random():.12f}",
            "height": source.randrange(10**7),
        }
        rows.append(row)
        size += len(json.dumps(row)) + 2
    return json.dumps({"rows": rows}).encode()


@dataclass(frozen=True)
class Case:
    """One comparison: a size and the headers of its requests (an ETag is filled in per server)."""

    name: str
    kilobytes: int
    headers: tuple[str, ...] = ()
    conditional: bool = False


# Cases that are compared with each other are neighbours, so that a busy machine disturbs them alike.
CASES = [
    case
    for size in SIZES
    for case in (
        Case(f"{size} KB browser", size, (f"Accept-Encoding: {BROWSER}",)),
        Case(f"{size} KB plain", size),
        Case(f"{size} KB 304", size, conditional=True),
    )
]


@dataclass(frozen=True)
class Server:
    """A server under load: its port, and the process (and its children) that works."""

    port: int
    pid: int

    def processor_seconds(self) -> float:
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        total = 0
        for pid in (str(self.pid), *children):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Burst:
    """What one burst of load showed."""

    per_second: float
    processor: float


NGINX = """
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
user {user};
events {{ worker_connections 1024; }}
http {{
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000000;
  {tuning}
  gzip_static on;
  default_type application/json;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  server {{ listen 127.0.0.1:{port}; root {folder}/files; }}
}}
"""


async def serve() -> None:
    """The child process: snapshots with the limiter on and this client exempt; prints its port."""
    from leasehold.core.settings import Limits
    from leasehold.serving.application import Application
    from leasehold.serving.envelopes import ApplicationDialect
    from leasehold.serving.routes import Registry
    from leasehold.serving.service import serving

    registry = Registry("Benchmark", version="1", dialect=ApplicationDialect())
    application = Application(registry, limits=Limits(exempt=("127.0.0.0/8",)))
    for size in SIZES:
        await application.snapshots.publish(
            f"/{size}.json", body_of(size), height=1, time_ns=10**18, cache_control="public, max-age=10"
        )
    async with serving(application) as running:
        print(running.port, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


@contextmanager
def leasehold() -> Iterator[Server]:
    """Our server, pinned."""
    command = ["taskset", "-c", SERVER_CORE, sys.executable, "-m", "benchmarks.serving", "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield Server(int(process.stdout.readline()), process.pid)
        process.stdin.close()
        process.wait(10)


TUNING = "open_file_cache max=100 inactive=60s; open_file_cache_valid 60s;"


@contextmanager
def nginx(folder: Path, contents: Mapping[str, bytes], *, tuned: bool = False) -> Iterator[Server]:
    """nginx with bytes as files under their paths, each with a precompressed neighbour, pinned to our server's core."""
    # nginx can't be asked for any free port, so one is looked for.
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for path, content in contents.items():
        file = folder / "files" / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(content, 6))
    folder.chmod(0o755)
    user = "root" if os.geteuid() == 0 else os.environ.get("USER", "nobody")
    configuration = folder / "nginx.conf"
    configuration.write_text(NGINX.format(folder=folder, port=port, user=user, tuning=TUNING if tuned else ""))
    process = subprocess.Popen(["taskset", "-c", SERVER_CORE, "nginx", "-c", str(configuration), "-p", str(folder)])
    try:
        for _ in range(100):
            try:
                fetch(port, next(iter(contents)))
                break
            except OSError:
                time.sleep(0.05)
        else:
            raise SystemExit("serving: nginx did not start")
        yield Server(port, process.pid)
    finally:
        process.terminate()
        process.wait(10)


def fetch(port: int, path: str, *headers: str) -> dict[str, str]:
    """Headers of an answer."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}")
    for header in headers:
        name, _, value = header.partition(": ")
        request.add_header(name, value)
    with urllib.request.urlopen(request) as answer:
        return {name.lower(): value for name, value in answer.headers.items()}


def measure(server: Server, case: Case, seconds: float, connections: int) -> Burst:
    """One burst of a case's requests."""
    path = f"/{case.kilobytes}.json"
    headers = list(case.headers)
    if case.conditional:
        headers.append(f"If-None-Match: {fetch(server.port, path)['etag']}")
    return burst(server, path, headers, seconds, connections)


def burst(server: Server, path: str, headers: Sequence[str], seconds: float, connections: int) -> Burst:
    """As many requests for a path as are answered."""
    command = ["taskset", "-c", LOAD_CORE, "wrk", "-t1", f"-c{connections}", f"-d{seconds}s"]
    for header in headers:
        command += ["-H", header]
    before = server.processor_seconds()
    output = subprocess.run(
        [*command, f"http://127.0.0.1:{server.port}{path}"], check=True, capture_output=True, text=True
    ).stdout
    spent = server.processor_seconds() - before
    failed = re.search(r"Non-2xx or 3xx responses: (\d+)|Socket errors: (.*)", output)
    if failed:
        raise SystemExit(f"{path} on port {server.port}: {failed[0]}")
    rate = re.search(r"Requests/sec:\s+([\d.]+)", output)
    count = re.search(r"(\d+) requests in", output)
    assert rate is not None, output
    assert count is not None, output
    return Burst(float(rate[1]), spent / int(count[1]))


def missing() -> list[str]:
    return [tool for tool in ("nginx", "wrk", "taskset") if shutil.which(tool) is None]


def compare(seconds: float, rounds: int, connections: int, tuned: bool) -> bool:
    """Run everything interleaved, print the table, say whether the targets hold."""
    ours: dict[str, list[Burst]] = {case.name: [] for case in CASES}
    theirs: dict[str, list[Burst]] = {case.name: [] for case in CASES}
    files = {f"/{size}.json": body_of(size) for size in SIZES}
    with tempfile.TemporaryDirectory() as name, leasehold() as mine, nginx(Path(name), files, tuned=tuned) as other:
        sides = [(mine, ours), (other, theirs)]
        for _ in range(rounds):
            for case in CASES:
                for server, results in sides:
                    results[case.name].append(measure(server, case, seconds, connections))
            sides.reverse()
    print(f"{'case':<16} {'leasehold/s':>12} {'nginx/s':>12} {'ratio':>7} {'cpu':>7}")
    good = True
    for case in CASES:
        pairs = list(zip(ours[case.name], theirs[case.name], strict=True))
        ratio = statistics.median(a.per_second / b.per_second for a, b in pairs)
        processor = statistics.median(b.processor / a.processor for a, b in pairs)
        good = good and (case.conditional or ratio >= TARGET)
        mean, other_mean = (statistics.median(burst.per_second for burst in side) for side in zip(*pairs, strict=True))
        print(f"{case.name:<16} {mean:>12,.0f} {other_mean:>12,.0f} {ratio:>7.2f} {processor:>7.2f}")
    for size in SIZES:
        pairs = list(zip(ours[f"{size} KB 304"], ours[f"{size} KB plain"], strict=True))
        share = statistics.median(a.per_second / b.per_second for a, b in pairs)
        good = good and share >= 1.0
        print(f"304s at {size} KB run at {share:.2f} of our own 200s")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--tuned-nginx", action="store_true", help="give nginx a cache of open files")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        import uvloop

        uvloop.run(serve())
        return 0
    if absent := missing():
        print(f"serving: not run, install {' '.join(absent)} first (apt-get install nginx wrk util-linux)")
        return 0
    good = compare(options.seconds, options.rounds, options.connections, options.tuned_nginx)
    print("targets hold" if good else f"a target is missed: {TARGET} of nginx, and 304s no slower than 200s")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
