"""Whatever is sent to the contracts, they take it or refuse it: nothing crashes, and a refusal changes nothing."""

from __future__ import annotations

import json
import random
from typing import Any

from tests.unit.devnet.contracts.lending import ADMIN, FEEDER, KEEPER, LENDER, OWNER, USER, Lending

from leasehold.devnet.state.store import Overlay
from leasehold.devnet.wasm.contract import BankCoin
from leasehold.devnet.wasm.failures import ModuleFailure
from leasehold.devnet.wasm.host import Block, Call

ROUNDS = 1500
COIN = {"amount": "1000000", "ticker": "USDC"}
PRICE = {"amount": {"amount": "1", "ticker": "BTC"}, "amount_quote": {"amount": "630", "ticker": "USDC"}}
SAMPLES: list[tuple[str, str, Any]] = [
    ("execute", "oracle", {"feed_prices": {"prices": [PRICE, PRICE]}}),
    ("execute", "oracle", {"add_price_alarm": {"alarm": {"below": PRICE, "above": None}}}),
    ("execute", "oracle", {"dispatch_alarms": {"max_count": 5}}),
    ("sudo", "oracle", {"register_feeder": {"feeder_address": USER}}),
    ("sudo", "oracle", {"swap_tree": {"tree": {"value": [0, "USDC"], "children": [{"value": [1, "BTC"]}]}}}),
    ("query", "oracle", {"swap_path": {"from": "BTC", "to": "OSMO"}}),
    ("query", "oracle", {"prices": {}}),
    ("execute", "timealarms", {"add_alarm": {"time": "1800000000000000000"}}),
    ("execute", "timealarms", {"dispatch_alarms": {"max_count": 5}}),
    ("execute", "treasury", {"time_alarm": {}}),
    ("sudo", "treasury", {"rewards": {"tvl_to_apr": {"bars": [{"tvl": 0, "apr": 5}, {"tvl": 9, "apr": 6}]}}}),
    ("query", "treasury", {"calculate_rewards": {}}),
    ("execute", "profit", {"config": {"cadence_hours": 5}}),
    ("sudo", "profit", {"response": {"request": {}, "data": "AAA="}}),
    (
        "sudo",
        "profit",
        {"open_ack": {"port_id": "", "channel_id": "", "counterparty_channel_id": "", "counterparty_version": "{}"}},
    ),
    (
        "execute",
        "admin",
        {"instantiate": {"code_id": "8", "expected_address": USER, "protocol": "N", "label": "n", "message": "{}"}},
    ),
    (
        "sudo",
        "admin",
        {
            "migrate_contracts": {
                "to_release": "v",
                "migration_spec": {"platform": {"some": {}}, "protocol": {"TEST": ["v", None]}},
            }
        },
    ),
    (
        "sudo",
        "admin",
        {
            "execute_contracts": {
                "platform": {"timealarms": {"message": {}}, "treasury": {"message": 1}},
                "protocol": {"TEST": None},
            }
        },
    ),
    ("query", "admin", {"protocol": "TEST"}),
    ("execute", "lpp", {"deposit": []}),
    ("execute", "lpp", {"burn": {"amount": {"amount": "5"}}}),
    ("query", "lpp", {"quote": {"amount": COIN}}),
    ("execute", "leaser", {"open_lease": {"currency": "BTC", "max_ltd": 700}}),
    ("query", "leaser", {"quote": {"downpayment": COIN, "lease_asset": "BTC", "max_ltd": 700}}),
    ("execute", "lease", {"repay": []}),
    ("execute", "lease", {"close_position": {"partial_close": {"amount": {"amount": "100000", "ticker": "BTC"}}}}),
    ("execute", "lease", {"change_close_policy": {"stop_loss": {"set": 800}, "take_profit": "reset"}}),
    ("sudo", "lease", {"error": {"request": {}, "details": "no"}}),
    ("query", "lease", {"state": {"due_projection_secs": 400}}),
]
ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    2**32,
    2**64,
    2**128,
    1.5,
    "",
    "x",
    "0",
    "-1",
    "1e5",
    str(2**128),
    "9" * 38,
    [],
    {},
    [[]],
    {"a": 1},
    "USDC",
    "BTC",
    "NLS",
    USER,
]
SENDERS = (USER, LENDER, FEEDER, KEEPER, OWNER, ADMIN)


def _changed(chance: random.Random, value: Any) -> Any:
    if chance.random() < 0.15:
        return chance.choice(ODD)
    if isinstance(value, dict):
        kept = {key: _changed(chance, item) for key, item in value.items() if chance.random() > 0.05}
        return kept | ({"extra": 1} if chance.random() < 0.05 else {})
    if isinstance(value, list):
        return [_changed(chance, item) for item in value]
    if isinstance(value, str) and value.isdigit() and chance.random() < 0.5:
        return str(int(value) * chance.choice((0, 1, 10**6, 10**20)) + chance.choice((0, 1)))
    return value


def test_contracts_take_or_refuse(seed: int) -> None:
    """Messages bent in random ways, from any account, with any coin, never raise anything but a refusal."""
    chance = random.Random(seed)
    lending = Lending()
    lending.at["lease"] = lending.open()
    contracts = sorted(lending.at.values())
    taken = 0
    for _ in range(ROUNDS):
        entry, name, message = chance.choice(SAMPLES)
        raw = json.dumps(_changed(chance, message), separators=(",", ":")).encode()
        if chance.random() < 0.02:
            raw = raw[: chance.randrange(len(raw) + 1)]
        sender = chance.choice(SENDERS if chance.random() < 0.7 else contracts)
        funds = (BankCoin("ibc/usdc", chance.choice((1, 10**8, 10**30))),) if chance.random() < 0.3 else ()
        if chance.random() < 0.03:
            lending.advance(chance.choice((1, 700, 10**5, 10**7)))
        taken += _sent(lending, entry, lending.at[name], sender, raw, funds)
    assert ROUNDS // 20 < taken < ROUNDS, "both outcomes are exercised"


def _sent(lending: Lending, entry: str, contract: str, sender: str, raw: bytes, funds: tuple[BankCoin, ...]) -> bool:
    block = Block(lending.height, lending.time, "test-1")
    overlay = Overlay(lending.store)
    call = Call(overlay, block)
    try:
        if entry == "query":
            lending.runtime.query(lending.store, block, contract, raw)
        elif entry == "sudo":
            lending.runtime.sudo(call, contract, raw)
        else:
            lending.runtime.execute(call, sender, contract, raw, funds)
    except ModuleFailure:
        return False
    overlay.write(lending.store)
    return True
