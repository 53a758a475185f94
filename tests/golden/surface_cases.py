"""The recorded cases of the four surfaces, found by content, each with its node and the heights it fits."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from leasehold.core.clock import NANOSECONDS, parse_rfc3339

SURFACES = ("rpc", "ws", "lcd", "grpc")
_HEIGHT = "x-cosmos-block-height"
_USUAL = 5


class Role(StrEnum):
    """Which node was asked."""

    FULL = "full"
    PRUNED = "pruned"
    EMPTY = "empty"


@dataclass(slots=True)
class Case:
    """One recorded exchange; `heights` are those the chain may have stood at, likeliest first."""

    file: str
    group: str
    number: int
    surface: str
    role: Role
    request: dict[str, Any]
    response: dict[str, Any]
    name: str
    compare: Any = None
    heights: list[int] = field(default_factory=list)


def find(golden: Path) -> list[Case]:
    """Every case of every file that looks like a group of cases of a surface, whatever the file is called."""
    cases: list[Case] = []
    for path in sorted((golden / "chain").rglob("*.json")):
        document = json.loads(path.read_text())
        if isinstance(document, dict) and isinstance(document.get("cases"), list):
            cases += _cases(str(path.relative_to(golden / "chain")), document)
    return cases


def services(golden: Path) -> dict[str, list[dict[str, Any]]]:
    """Methods by service that the original lists, by the file that has them."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted((golden / "chain").rglob("*.json")):
        document = json.loads(path.read_text())
        if isinstance(document, dict) and "services_listed_by_v1alpha" in document:
            listed = [entry for entry in document["services"] if entry["listed_by_reflection"]]
            found[str(path.relative_to(golden / "chain"))] = listed
    return found


def unknown(golden: Path) -> list[str]:
    """Files in the folders of the surfaces that nothing here can read."""
    found = []
    for path in sorted((golden / "chain").rglob("*.json")):
        document = json.loads(path.read_text())
        if path.parent.name in SURFACES and not _is_understood(document):
            found.append(str(path.relative_to(golden / "chain")))
    return found


def _is_understood(document: Any) -> bool:
    if not isinstance(document, dict):
        return False
    if "services_listed_by_v1alpha" in document:
        return True
    cases = document.get("cases")
    return isinstance(cases, list) and all(_surface(case) for case in cases)


def _surface(case: Any) -> str | None:
    request = case.get("request") if isinstance(case, dict) else None
    if not isinstance(request, dict) or not isinstance(case.get("response"), dict):
        return None
    if request.get("tool") == "grpcurl":
        return "grpc"
    surface = request.get("surface")
    return surface if surface in SURFACES else None


def _cases(file: str, document: dict[str, Any]) -> Iterator[Case]:
    group = str(document.get("group", ""))
    role = _role(f"{group} {document.get('about', '')}")
    for number, case in enumerate(document["cases"]):
        if (surface := _surface(case)) is not None:
            name = str(case.get("case", ""))
            compare = case.get("compare")
            yield Case(file, group, number, surface, role, case["request"], case["response"], name, compare)


def _role(text: str) -> Role:
    if "pruned blocks" in text:
        return Role.PRUNED
    if "without any block" in text or "not produced or received any block" in text:
        return Role.EMPTY
    return Role.FULL


class Timeline:
    """Which height the recorded chain stood at, from what a case itself shows and from its neighbours."""

    def __init__(self, blocks: list[dict[str, Any]]) -> None:
        self._last = int(blocks[-1]["height"])
        # A block is committed when the votes for it are in, and those give the next block its time.
        self._committed = [parse_rfc3339(block["time"]) for block in blocks[1:]]

    def place(self, cases: list[Case], usual: list[int]) -> None:
        """Give every case of one file its possible heights; `usual` are those of its surface, where nothing tells."""
        shown = [shown_height(case) for case in cases]
        for index, case in enumerate(cases):
            exact = shown[index]
            if exact is not None:
                case.heights = [exact]
                continue
            before = next((height for height in reversed(shown[:index]) if height is not None), None)
            after = next((height for height in shown[index + 1 :] if height is not None), None)
            case.heights = self._guess(case, before, after, usual)

    def _guess(self, case: Case, before: int | None, after: int | None, usual: list[int]) -> list[int]:
        dated = self._dated(case)
        if dated is None:
            likely = before if before is not None else after
            return [likely] if likely is not None else usual or [self._last]
        low, high = dated
        if before is not None:
            low = max(low, min(before, high))
        if after is not None:
            high = min(high, max(after, low))
        return list(range(low, high + 1))

    def _dated(self, case: Case) -> tuple[int, int] | None:
        headers = case.response.get("headers")
        if not isinstance(headers, dict) or "Date" not in headers:
            return None
        second = int(parsedate_to_datetime(headers["Date"]).timestamp())
        first = bisect_right(self._committed, second * NANOSECONDS)
        last = bisect_right(self._committed, (second + 1) * NANOSECONDS)
        return max(1, first), max(1, last)


def shown_height(case: Case) -> int | None:
    """The height a case itself shows that the chain stood at."""
    if case.surface == "lcd":
        return _lcd_evidence(case)
    if case.surface == "grpc":
        return _grpc_evidence(case)
    if case.surface == "ws":
        return _ws_evidence(case)
    return _rpc_evidence(case)


def _number(text: Any) -> int | None:
    return int(text) if isinstance(text, str) and text.isdigit() else None


def _lcd_evidence(case: Case) -> int | None:
    asked = {name.lower() for name in case.request.get("headers") or {}}
    if asked & {_HEIGHT, f"grpc-metadata-{_HEIGHT}"}:
        return None
    return _number(case.response["headers"].get("Grpc-Metadata-X-Cosmos-Block-Height"))


def _grpc_evidence(case: Case) -> int | None:
    given = [value for key, value in case.request.get("metadata") or [] if key == _HEIGHT]
    if len(given) == 1 and given[0] != "0":
        return None
    if "stdout" in case.response:
        found = re.search(rf"{_HEIGHT}: (\d+)", case.response["stdout"])
        return int(found[1]) if found and f"{_HEIGHT}:" not in " ".join(case.request["args"]) else None
    return next((_number(value) for key, value in case.response.get("initial_metadata") or [] if key == _HEIGHT), None)


def _ws_evidence(case: Case) -> int | None:
    """The height before the first event, where a session must have begun."""
    for entry in case.response["transcript"]:
        if (height := event_height(entry.get("frame"))) is not None:
            return height - 1
        if (height := _rpc_height(entry.get("frame")) or _answered_height(entry.get("frame"))) is not None:
            return height
    return None


def _answered_height(frame: Any) -> int | None:
    """The height a query without one was answered at."""
    result = frame.get("result") if isinstance(frame, dict) else None
    response = result.get("response") if isinstance(result, dict) else None
    return (_number(response.get("height")) or None) if isinstance(response, dict) else None


def event_height(frame: Any) -> int | None:
    """Height of the block an event frame tells of; None for what is no event or shows no height."""
    if not isinstance(frame, dict) or not isinstance(frame.get("result"), dict):
        return None
    value = (frame["result"].get("data") or {}).get("value")
    if not isinstance(value, dict):
        return None
    for candidate in (
        value,
        value.get("header"),
        (value.get("block") or {}).get("header"),
        value.get("TxResult"),
        value.get("Vote"),
    ):
        if isinstance(candidate, dict) and isinstance(candidate.get("height"), str):
            return int(candidate["height"])
    return None


def _rpc_evidence(case: Case) -> int | None:
    body = case.response.get("body")
    request = case.request.get("body")
    if isinstance(request, dict) and "height" in (request.get("params") or {}):
        return _error_height(body, str(request.get("method")))
    return _rpc_height(body)


def _rpc_height(body: Any) -> int | None:
    result = body.get("result") if isinstance(body, dict) else None
    if not isinstance(result, dict):
        return None
    if isinstance(result.get("sync_info"), dict):
        return _number(result["sync_info"]["latest_block_height"])
    if "last_height" in result:
        return _number(result["last_height"])
    response = result.get("response")
    if isinstance(response, dict):
        return _number(response.get("last_block_height"))
    return None


def _error_height(body: Any, method: str) -> int | None:
    error = body.get("error") if isinstance(body, dict) else None
    found = re.search(r"current blockchain height (\d+)", str(error.get("data"))) if isinstance(error, dict) else None
    if found is None:
        return None
    # These two count the block that is being worked on.
    return int(found[1]) - (method in ("validators", "consensus_params"))


def usual_heights(cases: list[Case], surface: str) -> list[int]:
    """The few heights at which most cases of a surface were recorded."""
    shown = Counter(
        height
        for case in cases
        if case.surface == surface and case.role is Role.FULL and (height := shown_height(case)) is not None
    )
    common = [height for height, _ in shown.most_common(_USUAL)]
    return list(range(min(common), max(common) + 1 + _USUAL)) if common and max(common) - min(common) < 20 else common


def by_file(cases: list[Case]) -> dict[str, list[Case]]:
    files: dict[str, list[Case]] = {}
    for case in cases:
        files.setdefault(case.file, []).append(case)
    return files
