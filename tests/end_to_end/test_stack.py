"""The whole stack walks: chain, index, data API, application API, supply API; it mends itself and ends cleanly."""

from __future__ import annotations

import json
import os
import signal
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.end_to_end.conftest import PATIENCE, Stack


def _get(url: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(url, timeout=60) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def _json(url: str) -> Any:
    status, body = _get(url)
    assert status == 200, (url, status, body)
    return json.loads(body)


def _eventually(condition: Any, seconds: float = PATIENCE) -> Any:
    deadline = time.monotonic() + seconds
    while True:
        try:
            found = condition()
        except (OSError, AssertionError):
            found = None
        if found:
            return found
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def test_every_service_of_the_stack_answers(stack: Stack) -> None:
    """A block sealed by the chain is seen by the index, the data API and the application API; supply is told."""
    status = _json(stack.url("rpc") + "/status")["result"]
    height = int(status["sync_info"]["latest_block_height"])
    assert status["node_info"]["network"] == "leasehold-1"
    assert int(_json(stack.url("rpc") + "/block?height=1")["result"]["block"]["header"]["height"]) == 1
    assert _eventually(lambda: _json(stack.url("indexer") + "/ready")["height"] > height)
    assert _get(stack.url("data_api") + "/health")[0] == 200
    assert _eventually(lambda: _get(stack.url("data_api") + "/ready")[0] == 200)
    assert _eventually(lambda: _blocks(_json(stack.url("data_api") + "/api/blocks")) >= height)
    assert _eventually(lambda: _json(stack.url("app_api") + "/api/health")["status"] == "healthy")
    assert _eventually(lambda: int(_json(stack.url("app_api") + "/api/node/status")["latest_block_height"]) > height)
    assert _get(stack.url("supply_api") + "/?type=max")[1] == b"1000000000"
    assert _eventually(lambda: _get(stack.url("supply_api") + "/?type=total")[0] == 200)
    assert int(_get(stack.url("supply_api") + "/?type=total")[1]) > 0


def _blocks(answer: Any) -> int:
    """The number of blocks, the only number in the answer."""
    return int(next(iter(answer.values())) if isinstance(answer, dict) else answer)


def test_a_killed_service_comes_back(stack: Stack) -> None:
    """Each service and the database, killed without warning, is restarted and works again."""
    for name in ("supply-api", "index", "postgres"):
        before = sum(1 for line in stack.lines if line.startswith(f"{name} ready"))
        victim = _process_of(stack, name)
        os.kill(victim, signal.SIGKILL)
        stack.wait_for(f"^{name} ready", times=before + 1)
    height = int(_json(stack.url("rpc") + "/status")["result"]["sync_info"]["latest_block_height"])
    assert _eventually(lambda: _json(stack.url("indexer") + "/ready")["height"] > height)
    assert _eventually(lambda: _get(stack.url("supply_api") + "/?type=max")[0] == 200)


def _process_of(stack: Stack, name: str) -> int:
    for pid in stack.children():
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if name.encode() in words or (name == "postgres" and words[0].endswith(b"postgres")):
            return pid
    raise AssertionError(f"no process of {name} among {stack.children()}")


def test_a_second_stack_on_the_same_home_is_refused(stack: Stack) -> None:
    """It says so in one line, exits with 3 and changes nothing."""
    second = Stack(stack.home)
    assert second.process.wait(PATIENCE) == 3
    second.stop()
    assert len([line for line in second.lines if line.strip()]) == 1
    assert _json(stack.url("app_api") + "/api/health")["status"] == "healthy"


def test_the_stack_ends_cleanly_and_continues_where_it_was(tmp_path: Path) -> None:
    """SIGTERM ends every process; a second start goes on with the same chain and index."""
    first = Stack(tmp_path)
    first.wait_for("all ready")
    height = int(_json(first.url("rpc") + "/status")["result"]["sync_info"]["latest_block_height"])
    pids = first.children()
    assert first.stop() == 0
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    second = Stack(tmp_path)
    try:
        second.wait_for("all ready")
        assert int(_json(second.url("rpc") + "/status")["result"]["sync_info"]["latest_block_height"]) >= height
        assert _eventually(lambda: _json(second.url("indexer") + "/ready")["height"] > height)
    finally:
        second.stop()
