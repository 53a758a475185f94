"""The report of `make golden`: tests add one JSON line per file, this prints agreed/total per folder and file.

A line has `folder`, `file`, `agreed`, `total` and `differences` (texts), and may have `excepted`, how many of the total
are deliberate differences that count as neither, and `unanswered`, questions that the recordings have no answer to.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

VARIABLE = "LEASEHOLD_GOLDEN_REPORT"
_SHOWN, _WIDTH = 10, 300


def record(folder: str, file: str, agreed: int, total: int, differences: Sequence[str], *, excepted: int = 0) -> None:
    """Add a line to the report of this run, if one was asked for."""
    target = os.environ.get(VARIABLE)
    if not target:
        return
    line: dict[str, Any] = {"folder": folder, "file": file, "agreed": agreed, "total": total}
    line |= {"excepted": excepted, "differences": list(differences)}
    with Path(target).open("a") as stream:
        stream.write(json.dumps(line, ensure_ascii=False) + "\n")


def share(agreed: int, total: int, excepted: int = 0) -> float:
    """What part of the cases that count agrees."""
    counted = total - excepted
    return agreed / counted if counted else 1.0


def rendered(lines: Iterable[str]) -> Iterable[str]:
    """The report as text: a row per folder, a row per file, and under it what differs."""
    folders: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        entry = json.loads(line)
        folders.setdefault(entry["folder"], []).append(entry)
    for folder, entries in sorted(folders.items()):
        yield _row(folder, *(sum(entry.get(key, 0) for entry in entries) for key in ("agreed", "total", "excepted")))
        for entry in sorted(entries, key=lambda entry: str(entry["file"])):
            yield _row(f"  {entry['file']}", entry["agreed"], entry["total"], entry.get("excepted", 0))
            differences = entry["differences"]
            yield from (f"      {text[:_WIDTH]}" for text in differences[:_SHOWN])
            if len(differences) > _SHOWN:
                yield f"      and {len(differences) - _SHOWN} more"
            yield from (f"      no recording answers {text[:_WIDTH]}" for text in entry.get("unanswered", ())[:_SHOWN])


def _row(name: str, agreed: int, total: int, excepted: int) -> str:
    note = f"  ({excepted} excepted)" if excepted else ""
    return f"{name:<44} {agreed:>6} / {total:<6} {100 * share(agreed, total, excepted):6.2f} %{note}"


if __name__ == "__main__":
    source = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get(VARIABLE, ""))
    if not source.is_file():
        sys.exit(f"no report: set {VARIABLE} while the golden tests run, then give that file here")
    for text in rendered(source.read_text().splitlines()):
        print(text)
