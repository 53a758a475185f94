"""Recorded answers to transactions before their block: the mempool's check and the simulation of the signed bytes.

A transaction that was delivered is checked on the state before its block. Of one that was refused only its neighbours
are known: it agrees if it does at one of the heights between them.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.golden.replay_judgement import OUT_OF_GAS, Score, compare_events, events_of, shown
from tests.golden.replay_world import ReplayWorld

from leasehold.devnet.app.errors import SimulationError

_REACH = 40


@dataclass(slots=True)
class Sent:
    """A recorded transaction with the heights at which it may have been sent."""

    label: str
    raw: bytes
    first: int
    last: int
    check: dict[str, Any] | None
    simulation: dict[str, Any] | None
    check_differs: str | None = "never tried"
    simulation_differs: str | None = "never tried"


def sent_transactions(golden: Path) -> list[Sent]:
    """Every recorded transaction, found by content."""
    found: list[Sent] = []
    for path in sorted((golden / "chain").rglob("*.json")):
        document = json.loads(path.read_text())
        cases = document.get("cases", []) if isinstance(document, dict) else []
        if cases and all("tx_bytes_base64" in case.get("request", {}) for case in cases):
            found += _of_file(cases)
    return found


def _of_file(cases: list[dict[str, Any]]) -> Iterator[Sent]:
    heights = [int(case["response"].get("height") or 0) for case in cases]
    for index, case in enumerate(cases):
        try:
            raw = base64.b64decode(case["request"]["tx_bytes_base64"], validate=True)
        except binascii.Error:
            # Long bytes are cut in the recording.
            continue
        if heights[index]:
            first = last = heights[index] - 1
        else:
            first = max([height for height in heights[:index] if height] or [48]) - 1
            last = min([height for height in heights[index:] if height] or [first + _REACH])
        response = case["response"]
        yield Sent(case["case"], raw, first, last, response.get("broadcast_tx_sync"), response.get("simulate_signed"))


def judge_checks(world: ReplayWorld, sent: list[Sent]) -> tuple[Score, Score]:
    """Replay the chain and try every transaction at its heights; scores of checks and of simulations."""
    for block in world.run():
        for one in sent:
            if not one.first <= block.height <= one.last:
                continue
            if one.check is not None and one.check_differs is not None:
                one.check_differs = _check_difference(world, one)
            if one.simulation is not None and one.simulation_differs is not None:
                one.simulation_differs = _simulation_difference(world, one)
    checks, simulations = Score(), Score()
    for one in sent:
        if one.check is not None:
            checks.count(one.label, [one.check_differs] if one.check_differs is not None else [])
        if one.simulation is not None and not world.calls_contract(one.raw, None):
            simulations.count(one.label, [one.simulation_differs] if one.simulation_differs is not None else [])
    return checks, simulations


def _check_difference(world: ReplayWorld, one: Sent) -> str | None:
    assert one.check is not None
    result = world.app.check_tx(one.raw)
    # Each is tried on its own: what a check left behind for the mempool is forgotten.
    world.app.commit()
    found = (result.code, result.codespace, result.log)
    expected = (one.check["code"], one.check["codespace"], one.check["log"])
    if found == expected or result.code == one.check["code"] == OUT_OF_GAS:
        return None
    return f"{found} != {expected}"


def _simulation_difference(world: ReplayWorld, one: Sent) -> str | None:
    assert one.simulation is not None
    body = one.simulation.get("body", one.simulation)
    try:
        outcome = world.app.simulate(one.raw)
    except SimulationError as error:
        recorded = body.get("message", "a success")
        return None if recorded.startswith(error.error.log) else f"{error.error.log} != {recorded}"
    if "result" not in body:
        return f"a success != {body.get('message')}"
    return next(iter(compare_events(shown(outcome.events), events_of(body["result"]["events"]))), None)
