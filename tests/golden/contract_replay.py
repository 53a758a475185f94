"""Replays a recorded case step by step and says where ours differs from it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.golden.contract_world import World

from leasehold.devnet.wasm.contract import ContractError, ContractTrap
from leasehold.devnet.wasm.failures import ModuleFailure

Step = dict[str, Any]

_SIMULATED_BANK = ("Cannot Sub with given operands", "Cannot transfer empty coins amount")
_COLUMN = re.compile(r" at line 1 column \d+")
_DENOM = re.compile(r"'(ibc/[0-9A-F]{64}|u[a-z]+|factory/[^']+)'")
_SUFFIX = re.compile(r": (?:execute|instantiate|migrate) wasm contract failed$")
_WRAPS = re.compile(r"^(?:dispatch: |reply: |submessages: )+")
_UNORDERED = ("leases", "feeders")


def text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def masked(error: str) -> str:
    """An error text without what the recordings say not to compare."""
    error = _DENOM.sub("'<denom>'", _COLUMN.sub("", error))
    return re.sub(r"kind: Other, error: (parse failed|addr_validate.*)$", "kind: Other, error: <address>", error)


class Replay:
    """One case against one world; `differences` holds a line per disagreement."""

    def __init__(self, case: dict[str, Any], *, feed: bool) -> None:
        self.case = case
        self.steps: list[Step] = case["steps"]
        self.world = World(case)
        self.total = len(self.steps)
        self.agreed = 0
        self.differences: list[tuple[int, str]] = []
        self._deployed = any(step["op"] == "instantiate" for step in self.steps)
        if not self._deployed:
            self.world.deploy(feed=feed)

    def run(self) -> Replay:
        for number, step in enumerate(self.steps):
            self._catch_up(number, step)
            complaints = list(self._step(step))
            if complaints:
                self.differences.append((number, f"{_title(step)}: {'; '.join(complaints)}"))
            else:
                self.agreed += 1
        return self

    def _catch_up(self, number: int, step: Step) -> None:
        """Clocks that moved without a recorded step: a lease was opened silently, in four blocks."""
        if "height" not in step or step["op"] == "advance":
            return
        while self.world.height + 4 <= step["height"]:
            if not self._open_silently(self.steps[number:]):
                break
        self.world.height, self.world.time = step["height"], int(step["time"])

    def _open_silently(self, ahead: list[Step]) -> bool:
        raw = next((step for step in ahead if step["op"] == "raw" and _opened(step)), None)
        lease = None if raw is None else _opened(raw)
        if raw is None or lease is None:
            return False
        queries = (step for step in ahead if step["op"] == "query" and step["contract"] == raw["contract"])
        answers = (step.get("answer") for step in queries)
        state = next((answer["opened"] for answer in answers if isinstance(answer, dict) and "opened" in answer), None)
        if state is None:
            return False
        amount = state["amount"]
        principal = int(state["principal_due"]["amount"])
        return self.world.open_silently(lease["customer"], amount["ticker"], int(amount["amount"]), principal)

    def _step(self, step: Step) -> Iterator[str]:
        world = self.world
        match step["op"]:
            case "exec":
                outcome = world.execute(step["contract"], step["sender"], step["msg"], step["funds"])
                yield from self._transaction(step, outcome)
            case "sudo":
                yield from self._transaction(step, world.sudo(step["contract"], step["msg"]))
            case "instantiate":
                outcome = world.instantiate(step["code"], step["msg"], sender=step["sender"], label=step["label"])
                yield from self._instantiation(step, outcome)
            case "relay":
                yield from self._relay(step)
            case "query":
                yield from self._query(step)
            case "raw":
                stored = world.runtime.raw(world.store, world.address(step["contract"]), step["key"].encode())
                ours = None if stored is None else world.shown(json.loads(stored))
                if text(ours) != text(step["value"]):
                    yield f"stored {text(ours)}, recorded {text(step['value'])}"
            case "balances":
                for account, recorded in step["balances"].items():
                    if (held := world.balances(account)) != recorded:
                        yield f"{account} holds {text(held)}, recorded {text(recorded)}"
            case "advance":
                world.time += int(step["ns"])
                world.height = step["height"]
                if world.time != int(step["time"]):
                    yield f"time {world.time}, recorded {step['time']}"
            case "fund" | "arrive":
                world.fund(step.get("to") or step["contract"], step["funds"])
            case "send":
                if world.send(step["from"], step["to"], step["funds"]) != step["ok"]:
                    yield "the bank decided otherwise"
            case unknown:
                yield f"no such kind of step: {unknown}"

    def _relay(self, step: Step) -> Iterator[str]:
        sudo = step["calls"][0]["msg"] if step["calls"] else {}
        self.world.error_details = sudo.get("error", {}).get("details")
        outcome = self.world.relay(
            step["contract"], step["mode"], step["of"], step.get("swap_out"), step.get("tokens_arrive_before_ack")
        )
        if bool(outcome.get("escrow_error")) != ("escrow_error" in step):
            yield "the escrow decided otherwise"
        yield from self._transaction(step, outcome)

    def _instantiation(self, step: Step, outcome: dict[str, Any]) -> Iterator[str]:
        if outcome["ok"]:
            address, _ = outcome["result"]
            if self.world.shown_text(address) != step["address"]:
                yield f"address {address}, recorded {step['address']}"
            outcome["events"] = []
            outcome["result"] = None
        yield from self._transaction(step, outcome)

    def _transaction(self, step: Step, outcome: dict[str, Any]) -> Iterator[str]:
        if outcome["ok"] != step["ok"]:
            reason = "" if outcome["ok"] else f" with {outcome['failure']}"
            yield f"ok {outcome['ok']}{reason}, recorded {step['ok']} {step.get('error', step.get('trap', ''))}"
            return
        if not step["ok"]:
            yield from self._failure(step, outcome["failure"])
        else:
            yield from self._success(step, outcome)
        if "trap" not in step:
            yield from self._calls(_without_unborn(step["calls"]), _without_unborn(self.world.shown(outcome["calls"])))

    def _success(self, step: Step, outcome: dict[str, Any]) -> Iterator[str]:
        shown = [
            {"type": event.type, "attributes": [list(pair) for pair in event.attributes]} for event in outcome["events"]
        ]
        yield from _events(step["events"], self.world.shown(shown))
        ours = None if outcome["result"] is None else json.loads(outcome["result"])
        if text(self.world.shown(ours)) != text(step.get("data")):
            yield f"data {text(ours)}, recorded {text(step.get('data'))}"
        sent = self.world.shown(outcome["interchain"])
        if text(sent) != text(step.get("interchain", [])):
            yield f"interchain {text(sent)}, recorded {text(step.get('interchain', []))}"
        changes = sorted(text(change) for change in outcome["balance_changes"])
        recorded = sorted(text(change) for change in step["balance_changes"])
        if changes != recorded:
            yield f"balances {changes}, recorded {recorded}"

    def _failure(self, step: Step, failure: ModuleFailure) -> Iterator[str]:
        if "trap" in step:
            return
        recorded = step["error"]
        kind, ours = _innermost(failure)
        if recorded in _SIMULATED_BANK:
            if kind != "module" or failure.codespace != "sdk":
                yield f"error {ours}, recorded a refusal of the bank"
            return
        ours = self.world.shown_text(ours)
        if masked(ours) != masked(recorded):
            yield f"error {ours}, recorded {recorded}"
            return
        view = _WRAPS.sub("", self.world.shown_text(str(failure)))
        if masked(_SUFFIX.sub("", view)) != masked(ours):
            yield f"on chain {view}, recorded {step['error_chain_view']}"

    def _calls(self, recorded: list[Step], ours: list[Step]) -> Iterator[str]:
        for number, (theirs, mine) in enumerate(zip(recorded, ours, strict=False)):
            for key in (*theirs, *(key for key in mine if key not in theirs)):
                if not _same_part(key, theirs.get(key), mine.get(key)):
                    yield f"call {number} {key} {text(mine.get(key))}, recorded {text(theirs.get(key))}"
        if len(recorded) != len(ours):
            yield f"{len(ours)} calls {_path(ours)}, recorded {len(recorded)} {_path(recorded)}"

    def _query(self, step: Step) -> Iterator[str]:
        try:
            answer = self.world.query(step["contract"], step["msg"]).decode()
        except ModuleFailure as failure:
            if "answer" in step:
                yield f"failed with {failure}, recorded {text(step['answer'])}"
            elif "error" in step:
                _, ours = _innermost(failure)
                ours = self.world.shown_text(ours)
                if masked(ours) != masked(step["error"]):
                    yield f"error {ours}, recorded {step['error']}"
            return
        if "answer" not in step:
            yield f"answered {answer}, recorded {step.get('error', step.get('trap'))}"
            return
        if "instantiate_address" in step["msg"]:
            return
        recorded = step["answer"]
        shown = self.world.shown_text(answer)
        if any(name in step["msg"] for name in _UNORDERED) and isinstance(recorded, list):
            shown, recorded = text(sorted(json.loads(shown))), sorted(recorded)
        if shown != text(recorded):
            yield f"answered {shown}, recorded {text(recorded)}"


def _opened(step: Step) -> Step | None:
    value = step.get("value")
    if isinstance(value, dict) and "OpenedActive" in value:
        lease: Step = value["OpenedActive"]["lease"]["lease"]
        return lease
    return None


def _title(step: Step) -> str:
    msg = step.get("msg")
    name = next(iter(msg), "") if isinstance(msg, dict) else step.get("mode", "")
    return f"{step['op']} {step.get('contract', step.get('code', ''))} {name}".strip()


def _without_unborn(calls: list[Step]) -> list[Step]:
    """Calls whose addresses of contracts that failed to come into being are masked: they depend on earlier failures."""
    unborn = [call["contract"] for call in calls if call["entry"] == "instantiate" and "error" in call]
    # A contract that was made and then undone by a later failure has no name in the recording either.
    unborn += [call["contract"] for call in calls if call["entry"] == "instantiate" and "error" in calls[-1]]
    shown = text(calls)
    for address in unborn:
        shown = shown.replace(f'"{address}"', '"<unborn>"')
    masked_calls: list[Step] = json.loads(shown)
    return masked_calls


def _path(calls: list[Step]) -> str:
    return " ".join(f"{call['contract']}.{call['entry']}" for call in calls)


def _innermost(failure: ModuleFailure) -> tuple[str, str]:
    """What the failing contract said, or the module that refused."""
    error: BaseException = failure
    while isinstance(error, ModuleFailure) and error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, ContractError):
        return "contract", str(error)
    if isinstance(error, ContractTrap):
        return "trap", str(error)
    return "module", str(error)


def _same_part(key: str, theirs: Any, mine: Any) -> bool:
    if key == "error" and isinstance(theirs, str) and isinstance(mine, str):
        return masked(theirs) == masked(mine)
    if key == "trap":
        return True
    if key == "result" and _redacted(theirs, mine):
        return True
    if key == "events" and isinstance(theirs, list) and isinstance(mine, list):
        return not list(_events(theirs, mine))
    return text(theirs) == text(mine)


def _redacted(theirs: Any, mine: Any) -> bool:
    """The recorded chain told the text of deeper failures, a real one only their code."""
    return isinstance(theirs, dict) and isinstance(mine, dict) and str(mine.get("err", "")).startswith("codespace: ")


def _events(recorded: list[Step], ours: list[Step]) -> Iterator[str]:
    """Recorded events show how a reply ended, and the code of a migration last."""
    for number, (theirs, mine) in enumerate(zip(recorded, ours, strict=False)):
        left, right = _plain(theirs), _plain(mine)
        if left["type"] == right["type"] and len(left["attributes"]) == len(right["attributes"]):
            for old, new in zip(left["attributes"], right["attributes"], strict=True):
                if old[0] == new[0] == "details" and new[1].startswith("codespace: "):
                    old[1] = new[1]
        if text(left) != text(right):
            yield f"event {number} {text(right)}, recorded {text(left)}"
            return
    if len(recorded) != len(ours):
        names = [event["type"] for event in ours], [event["type"] for event in recorded]
        yield f"events {names[0]}, recorded {names[1]}"


def _plain(event: Step) -> Step:
    attributes = [list(pair) for pair in event["attributes"]]
    if event["type"] == "reply":
        attributes = [pair for pair in attributes if pair[0] != "mode"]
    if event["type"] == "migrate":
        attributes.sort()
    return {"type": event["type"], "attributes": attributes}


def replay(case: dict[str, Any]) -> Replay:
    """The case, with or without the default prices fed first: the recording does not say, so the better one counts."""
    starts_by_feeding = next((step for step in case["steps"] if "feed_prices" in (step.get("msg") or {})), None)
    first = not (starts_by_feeding is not None and case["steps"][0] is starts_by_feeding)
    best = Replay(case, feed=first).run()
    if best.differences:
        other = Replay(case, feed=not first).run()
        if other.agreed > best.agreed:
            best = other
    return best
