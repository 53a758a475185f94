"""Evaluation of an opened lease: what its position demands now, and the alarms of one that demands nothing."""

from __future__ import annotations

from typing import NamedTuple

from leasehold.devnet.contracts.lease.scene import Scene, emitted
from leasehold.devnet.contracts.platform import time_alarm
from leasehold.devnet.wasm.contract import Message, Response, WasmExecute
from leasehold.protocol import events
from leasehold.protocol.loan import LeaseLoan
from leasehold.protocol.messages.lease_state import LeaseCore
from leasehold.protocol.messages.values import LeasePrice
from leasehold.protocol.position import Alarms, Liquidation, NoDebt, Steady, Trigger, Zone
from leasehold.protocol.serde import encode


class Quiet(NamedTuple):
    """Nothing to do but to arm the alarms."""

    zone: Zone
    alarms: list[Message]


Demand = NoDebt | Quiet | Liquidation | Trigger


def assess(scene: Scene, core: LeaseCore, loan: LeaseLoan) -> Demand:
    """What a position demands: nothing owed, liquidation, a close by policy, or alarms."""
    value = scene.price(core)
    spec, asset = core.spec(), core.position.amount.units
    due = loan.due(scene.now)
    collect_in = due.collect_in(spec.min_transaction)
    found = spec.assess(asset, due.total, 0 if collect_in else due.interest, value)
    if not isinstance(found, Steady):
        return found
    fired = spec.triggered(asset, due.total, value)
    if fired is not None:
        return fired
    return Quiet(found.zone, _messages(scene, core, spec.alarms(asset, due.total, collect_in, value)))


def _messages(scene: Scene, core: LeaseCore, alarms: Alarms) -> list[Message]:
    asset, lpn = core.position.amount.ticker, core.lpn
    above = alarms.above_or_equal
    alarm = _unchecked_alarm(
        LeasePrice.of(alarms.below, asset, lpn), None if above is None else LeasePrice.of(above, asset, lpn)
    )
    return [
        time_alarm(core.time_alarms.addr, scene.now + alarms.time_in),
        WasmExecute(core.oracle.addr, b'{"add_price_alarm":{"alarm":%b}}' % alarm),
    ]


def _unchecked_alarm(below: LeasePrice, above: LeasePrice | None) -> bytes:
    """The alarm's JSON; an impossible one is the oracle's to refuse."""
    return b'{"below":%b,"above":%b}' % (encode(below), encode(above))


def rearmed(core: LeaseCore, quiet: Quiet) -> Response:
    """The response of an evaluation without action, with a warning in a warning zone."""
    response = Response()
    if quiet.zone.low is not None:
        response.events.append(
            emitted(
                events.LiquidationWarning(
                    customer=core.customer,
                    lease=core.addr,
                    lease_asset=core.position.amount.ticker,
                    ltv=quiet.zone.low,
                    level=quiet.zone.level,
                )
            )
        )
    for message in quiet.alarms:
        response.send(message)
    return response
