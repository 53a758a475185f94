"""What is refused, in which words, under which code; and that a refusal changes nothing.

Each row is a message that must fail: who sends it to whom, with which coins, and a fragment of the text that clients
look for.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from tests.unit.devnet.contracts.lending import (
    ADMIN,
    FEEDER,
    KEEPER,
    LENDER,
    OWNER,
    SPEC,
    USER,
    Lending,
    Refusal,
    account,
)

from leasehold.devnet.wasm.failures import ModuleFailure

STRANGER = account("stranger")
WASM_REFUSED = {4, 5}  # the code of a failed instantiation, which opening a lease is, and of a failed execution


def _price(base: str, amount: int, quote: int, quoted: str = "USDC") -> dict[str, Any]:
    return {
        "amount": {"amount": str(amount), "ticker": base},
        "amount_quote": {"amount": str(quote), "ticker": quoted},
    }


def _config(**changes: Any) -> dict[str, Any]:
    """A configuration of leases that would be taken, but for some changes: a path of keys and a value."""
    content: dict[str, Any] = {
        "lease_interest_rate_margin": 40,
        "lease_position_spec": copy.deepcopy(SPEC),
        "lease_due_period": 2592000000000000,
        "lease_max_slippages": {"liquidation": 300},
    }
    for path, value in changes.items():
        *parents, last = path.split("__")
        inside = content
        for key in parents:
            inside = inside[key]
        inside[last] = value
    return {"config_leases": content}


def _liability(**changes: Any) -> dict[str, Any]:
    return _config(**{f"lease_position_spec__liability__{key}": value for key, value in changes.items()})


def _policy(**sides: Any) -> dict[str, Any]:
    return {"change_close_policy": sides}


def _partial(amount: str, ticker: str = "BTC") -> dict[str, Any]:
    return {"close_position": {"partial_close": {"amount": {"amount": amount, "ticker": ticker}}}}


ROWS: list[tuple[str, str, Any, tuple[tuple[str, int], ...], str]] = [
    # Wrong senders.
    ("oracle", USER, {"feed_prices": {"prices": []}}, (), "No feeder data for the specified address"),
    ("oracle", USER, {"add_price_alarm": {"alarm": {"below": _price("BTC", 1, 1)}}}, (), "No such contract"),
    ("timealarms", USER, {"add_alarm": {"time": "9000000000000000000"}}, (), "No such contract"),
    ("treasury", USER, {"time_alarm": {}}, (), "Unauthorized access"),
    ("profit", USER, {"time_alarm": {}}, (), "Unauthorized access"),
    ("profit", USER, {"config": {"cadence_hours": 2}}, (), "Unauthorized access"),
    ("reserve", USER, {"dump_balance_to": USER}, (), "Unauthorized access"),
    ("reserve", USER, {"new_lease_code": 4}, (), "Unauthorized access"),
    ("reserve", USER, {"cover_liquidation_losses": {"amount": "1", "ticker": "USDC"}}, (), "No such contract"),
    ("reserve", "lpp", {"cover_liquidation_losses": {"amount": "1", "ticker": "USDC"}}, (), "Expecting code id"),
    ("lpp", USER, {"open_loan": {"amount": {"amount": "1", "ticker": "USDC"}}}, (), "No such contract"),
    ("lpp", "oracle", {"open_loan": {"amount": {"amount": "1", "ticker": "USDC"}}}, (), "Expecting code id"),
    ("lpp", USER, {"repay_loan": []}, (("USDC", 5),), "No such contract"),
    ("lpp", USER, {"close_all_deposits": []}, (), "Unauthorized access"),
    ("lpp", USER, {"new_lease_code": {"lease_code": 4}}, (), "Unauthorized access"),
    ("leaser", USER, _config(), (), "Unauthorized access"),
    ("leaser", USER, {"change_lease_admin": {"new": USER}}, (), "Unauthorized access"),
    ("leaser", USER, {"finalize_lease": {"customer": USER}}, (), "No such contract"),
    (
        "leaser",
        USER,
        {"migrate_leases": {"new_code_id": "4", "to_release": {"software": "x", "protocol": "x"}, "max_leases": 1}},
        (),
        "Unauthorized access",
    ),
    ("admin", USER, {"register_protocol": {"name": "X", "protocol": {"network": "Osmosis", "dex": "Osmosis",
     "contracts": dict.fromkeys(("leaser", "lpp", "oracle", "profit", "reserve"), USER)}}}, (), "Unauthorized access"),
    ("lease", STRANGER, {"close_position": {"full_close": {}}}, (), "Unauthorized access"),
    ("lease", STRANGER, _policy(stop_loss={"set": 800}), (), "Unauthorized access"),
    ("lease", ADMIN, _policy(stop_loss={"set": 800}), (), "Unauthorized access"),
    ("lease", USER, {"price_alarm": []}, (), "Unauthorized access"),
    ("lease", USER, {"time_alarm": {}}, (), "Unauthorized access"),
    ("lease", USER, {"dex_callback": []}, (), "Unauthorized access"),
    ("lease", USER, {"dex_callback_continue": []}, (), "Unauthorized access"),
    # Wrong funds.
    ("lpp", LENDER, {"deposit": []}, (), "Expecting funds of USDC but found none"),
    ("lpp", USER, {"deposit": []}, (("BTC", 1), ("USDC", 1)), "Expecting funds of USDC but found extra ones"),
    ("lpp", USER, {"deposit": []}, (("BTC", 5),), "pretending to be the bank symbol of the currency with ticker"),
    ("lpp", USER, {"distribute_rewards": []}, (("USDC", 5),), "pretending to be the bank symbol of the currency"),
    ("lpp", LENDER, {"distribute_rewards": []}, (), "Expecting funds of NLS but found none"),
    ("lpp", USER, {"burn": {"amount": {"amount": "1"}}}, (), "The deposit does not exist"),
    ("lpp", LENDER, {"burn": {"amount": {"amount": "0"}}}, (), "Zero withdraw amount"),
    ("lpp", LENDER, {"burn": {"amount": {"amount": str(10**12 + 1)}}}, (), "Insufficient balance"),
    ("lpp", LENDER, {"burn": {"amount": {"amount": str(10**12)}}}, (), "No liquidity"),
    ("lpp", LENDER, {"claim_rewards": {}}, (), "No pending rewards"),
    ("lpp", USER, {"claim_rewards": {"other_recipient": None}}, (), "The deposit does not exist"),
    ("leaser", USER, {"open_lease": {"currency": "BTC"}}, (), "No payment sent"),
    ("leaser", USER, {"open_lease": {"currency": "BTC"}}, (("USDC", 999_999),), "The transaction amount should worth"),
    ("leaser", USER, {"open_lease": {"currency": "BTC"}}, (("USDC", 5_000_000),), "The asset amount should worth"),
    ("leaser", USER, {"open_lease": {"currency": "BTC", "max_ltd": 0}}, (("USDC", 10**8),), "The transaction amount"),
    ("leaser", USER, {"open_lease": {"currency": "BTC"}}, (("USDC", 10**12 // 2 * 2 - 10**9),), "No liquidity"),
    ("lease", USER, {"repay": []}, (), "No payment sent"),
    ("lease", USER, {"repay": []}, (("OSMO", 5),), "The transaction amount should worth at least 1000000 USDC"),
    # Unknown tickers, and those of another group.
    ("leaser", USER, {"open_lease": {"currency": "DOGE"}}, (("USDC", 10**8),), "Found a symbol 'DOGE' pretending"),
    ("leaser", USER, {"open_lease": {"currency": "USDC"}}, (("USDC", 10**8),), "Found a symbol 'USDC' pretending"),
    ("leaser", USER, {"open_lease": {"currency": "NLS"}}, (("USDC", 10**8),), "Found a symbol 'NLS' pretending"),
    ("lease", USER, _partial("1000", "DOGE"), (), "Found a symbol 'DOGE' pretending to be ticker of a currency"),
    ("lease", USER, _partial("100000", "OSMO"), (), "Expected currency BTC, found OSMO"),
    ("oracle", FEEDER, {"feed_prices": {"prices": [_price("BTC", 1, 1, "OSMO")]}}, (), "No records for a pool with"),
    ("oracle", FEEDER, {"feed_prices": {"prices": [_price("DOGE", 1, 1)]}}, (), "Found a symbol 'DOGE' pretending"),
    ("oracle", FEEDER, {"feed_prices": {"prices": [_price("BTC", 0, 1)]}}, (), "The amount should not be zero"),
    ("oracle", FEEDER, {"feed_prices": {"prices": [_price("BTC", 1, 0)]}}, (), "The quote amount should not be zero"),
    # Percents and other bounds.
    ("leaser", ADMIN, _config(lease_interest_rate_margin=1001), (), "Upper bound is: 1000, but got: 1001"),
    ("leaser", ADMIN, _config(lease_max_slippages__liquidation=1001), (), "Upper bound is: 1000, but got: 1001"),
    ("leaser", ADMIN, _config(lease_max_slippages__liquidation=1000), (), "The min output from a dex transaction"),
    ("leaser", ADMIN, _liability(initial=0), (), "Initial % should not be zero"),
    ("leaser", ADMIN, _liability(initial=831), (), "Initial % should be <= healthy %"),
    ("leaser", ADMIN, _liability(healthy=850), (), "Healthy % should be < first liquidation %"),
    ("leaser", ADMIN, _liability(first_liq_warn=865), (), "First liquidation % should be < second liquidation %"),
    ("leaser", ADMIN, _liability(second_liq_warn=880), (), "Second liquidation % should be < third liquidation %"),
    ("leaser", ADMIN, _liability(third_liq_warn=900), (), "Third liquidation % should be < max %"),
    ("leaser", ADMIN, _liability(max=1001), (), "Upper bound is: 1000, but got: 1001"),
    ("leaser", ADMIN, _liability(recalc_time=3599999999999), (), "Recalculation cadence should be >= 1h"),
    ("leaser", ADMIN, _config(lease_position_spec__min_asset__amount="0"), (), "Min asset amount should be positive"),
    ("leaser", ADMIN, _config(lease_position_spec__min_transaction__amount="0"), (), "Min transaction amount should"),
    ("leaser", ADMIN, _config(lease_interest_rate_margin=-1), (), "invalid value: integer `-1`, expected u32"),
    ("leaser", ADMIN, _config(lease_interest_rate_margin="40"), (), 'invalid type: string "40", expected u32'),
    ("lease", USER, _policy(stop_loss={"set": 0}), (), "The close policy 'stop loss' should not be zero!"),
    ("lease", USER, _policy(take_profit={"set": 0}), (), "The close policy 'take profit' should not be zero!"),
    ("lease", USER, _policy(stop_loss={"set": 900}), (), "is not less than the max lease liability LTV '90%'"),
    ("lease", USER, _policy(stop_loss={"set": 500}), (), "would trigger 'stop loss above or equal to 50%'"),
    ("lease", USER, _policy(take_profit={"set": 700}), (), "would trigger 'take profit below 70%'"),
    ("lease", USER, _policy(stop_loss={"set": 700}, take_profit={"set": 700}), (), "should be less than the stop loss"),
    ("lease", USER, _policy(stop_loss={"set": 1001}), (), "Upper bound is: 1000, but got: 1001"),
    ("lease", USER, _partial("0"), (), "The position close amount should worth at least"),
    ("lease", USER, _partial("396000"), (), "The position past this close should worth at least"),
    ("lease", USER, _partial(str(10**20)), (), "The position past this close should worth at least"),
    # Shapes.
    ("lpp", LENDER, {"deposit": {}}, (("USDC", 5),), "invalid type: map, expected tuple variant ExecuteMsg::Deposit"),
    ("lease", USER, {"repay": {}}, (("USDC", 5),), "invalid type: map, expected tuple variant ExecuteMsg::Repay"),
    ("lease", USER, {"nosuch": {}}, (), "unknown variant `nosuch`, expected one of `repay`, `change_close_policy`"),
    ("lease", USER, {"heal": []}, (), "Inconsistency not detected"),
    ("timealarms", KEEPER, {"dispatch_alarms": {}}, (), "missing field `max_count`"),
    ("oracle", KEEPER, {"dispatch_alarms": {"max_count": 1, "x": 1}}, (), "unknown field `x`, expected `max_count`"),
]  # fmt: skip


@pytest.fixture(scope="module")
def lending() -> Lending:
    """A pool of a million with a lease of BTC on its way, and nothing that any refusal may change."""
    made = Lending()
    made.at["lease"] = made.open()
    return made


def _refused(lending: Lending, contract: str, sender: str, message: Any, coins: tuple[tuple[str, int], ...]) -> str:
    """The text of a refusal, whose code is that of a refusing contract and which changed nothing."""
    before, sent = dict(lending.store.iterate(b"", b"\xff")), list(lending.wire.sent)
    with pytest.raises(Refusal) as refusal:
        lending.tell(contract, message, lending.address(sender), *coins)
    failure = refusal.value.__cause__
    assert isinstance(failure, ModuleFailure)
    assert failure.codespace == "wasm"
    assert failure.code in WASM_REFUSED
    assert dict(lending.store.iterate(b"", b"\xff")) == before
    assert lending.wire.sent == sent
    return str(refusal.value)


@pytest.mark.parametrize(
    ("contract", "sender", "message", "coins", "fragment"),
    ROWS,
    ids=[f"{row[0]}-{next(iter(row[2]))}-{number}" for number, row in enumerate(ROWS)],
)
def test_a_refusal_says_why_and_changes_nothing(
    lending: Lending, contract: str, sender: str, message: Any, coins: tuple[tuple[str, int], ...], fragment: str
) -> None:
    """Wrong senders, funds, tickers, bounds and shapes: the documented fragment, the code, and not a byte changed."""
    assert re.search(re.escape(fragment), _refused(lending, contract, sender, message, coins)), fragment


OPERATIONS: tuple[tuple[str, Any, tuple[tuple[str, int], ...]], ...] = (
    ("repay", {"repay": []}, (("USDC", 10**6),)),
    ("close position", {"close_position": {"full_close": {}}}, ()),
    ("change close policy", {"change_close_policy": {"stop_loss": {"set": 800}}}, ()),
)


def test_a_lease_in_a_wrong_state_refuses_what_it_can_not_do() -> None:
    """While it opens, repays, closes, is liquidated and when it is gone, a lease says which operation it refuses."""
    lending = Lending()

    def refuses(lease: str) -> None:
        for operation, message, coins in OPERATIONS:
            text = f"The operation '{operation}' is not supported in the current state"
            assert text in _refused(lending, lease, USER, message, coins)

    lending.tell("leaser", {"open_lease": {"currency": "BTC"}}, USER, ("USDC", 10**8))
    opening = lending.seen("ls-request-loan")[0]["id"]
    for outputs in ((), (), (), (200_000, 196_825)):
        refuses(opening)
        lending.relay(opening, *outputs)
    lending.tell(opening, {"repay": []}, USER, ("OSMO", 10**9))
    for outputs in ((), (33_000_000,)):
        refuses(opening)
        lending.relay(opening, *outputs)
    refuses(opening)
    lending.relay(opening)
    assert lending.state(opening)["opened"]["status"] == "idle"
    lending.tell(opening, {"close_position": {"full_close": {}}}, USER)
    for outputs in ((250_000_000,), ()):
        refuses(opening)
        lending.relay(opening, *outputs)
    assert lending.state(opening) == {"closed": []}
    refuses(opening)
    fallen = lending.open()
    lending.reprice(402)
    lending.dispatch()
    assert "liquidation" in lending.state(fallen)["opened"]["status"]["in_progress"]
    refuses(fallen)


def test_the_owner_may_do_what_others_may_not() -> None:
    """The same messages that strangers are refused are taken from whom they are for."""
    lending = Lending()
    lending.tell("leaser", _config(), ADMIN)
    lending.tell("leaser", {"change_lease_admin": {"new": OWNER}}, ADMIN)
    lending.tell("leaser", _config(), OWNER)
    lease = lending.open()
    lending.tell(lease, _policy(stop_loss={"set": 800}), USER)
    lending.tell(lease, {"close_position": {"full_close": {}}}, OWNER)
