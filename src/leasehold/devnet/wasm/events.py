"""How a contract's attributes and events appear on the chain: the contract first, trimmed, nothing reserved."""

from __future__ import annotations

from collections.abc import Sequence

from leasehold.devnet.app.abci import Event
from leasehold.devnet.wasm import failures
from leasehold.devnet.wasm.contract import Response
from leasehold.devnet.wasm.failures import WasmFailure


def own_events(contract: str, response: Response) -> list[Event]:
    """A `wasm` event of the bare attributes, if any, then one `wasm-<type>` for each event."""
    events = []
    if response.attributes:
        events.append(Event("wasm", _attributes(contract, response.attributes)))
    for event in response.events:
        kind = event.type.strip()
        if len(kind) <= 2:
            raise WasmFailure(failures.INVALID_EVENT, f"Event type too short: '{kind}'")
        events.append(Event("wasm-" + kind, _attributes(contract, event.attributes)))
    return events


def _attributes(contract: str, given: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    attributes = [("_contract_address", contract)]
    for key, value in given:
        key = key.strip()
        if not key:
            raise WasmFailure(failures.INVALID_EVENT, f"Empty attribute key. Value: {value}")
        if key.startswith("_"):
            raise WasmFailure(failures.INVALID_EVENT, f"Attribute key starts with reserved prefix _: '{key}'")
        attributes.append((key, value.strip()))
    return attributes
