"""Answers of a chain, as clients of it read them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from leasehold.protocol.messages import lease, lpp
from leasehold.protocol.messages.lease_state import Holding

COIN = {"amount": "5", "ticker": "USDC"}
LIABILITY = {
    "initial": 600,
    "healthy": 830,
    "first_liq_warn": 850,
    "second_liq_warn": 865,
    "third_liq_warn": 880,
    "max": 900,
    "recalc_time": 3600000000000,
}
STORED = {
    "lease": {
        "lease": {
            "addr": "l",
            "customer": "c",
            "position": {
                "amount": {"amount": "7", "ticker": "BTC"},
                "spec": {
                    "const": {"liability": LIABILITY, "min_asset": COIN, "min_transaction": COIN},
                    "close": {"take_profit": None, "stop_loss": 700},
                },
            },
            "loan": {
                "lpp": {"addr": "p"},
                "profit": {"addr": "q"},
                "due_period": 9,
                "margin_interest": 40,
                "margin_paid_by": "11",
            },
            "time_alarms": {"addr": "t"},
            "oracle": {"addr": "o"},
            "reserve": {"contract": "r"},
        },
        "dex": {
            "owner": "l",
            "host": "h",
            "dex": {
                "connection_id": "c",
                "transfer_channel": {"local_endpoint": "a", "remote_endpoint": "b"},
            },
        },
        "leases": {"addr": "f"},
    }
}


def _state(value: Any) -> lease.State:
    return msgspec.json.decode(json.dumps(value), type=lease.State)


def test_states_of_a_lease() -> None:
    """Each variant is chosen by its key; stages without content are bare strings."""
    opening = {
        "currency": "BTC",
        "downpayment": COIN,
        "loan": COIN,
        "loan_interest_rate": 60,
        "in_progress": {"transfer_out": {"ica_account": "osmo1x"}},
    }
    state = _state({"opening": opening}).opening
    assert state is not None
    assert isinstance(state.in_progress, lease.OpeningStage)
    assert state.in_progress.chosen == ("transfer_out", lease.IcaAccount("osmo1x"))
    assert _state({"closed": []}).chosen == ("closed", ())
    assert _state({"closing": {"amount": COIN, "in_progress": "transfer_in_init"}}).chosen[0] == "closing"
    assert _state({"paid": {"amount": COIN, "in_progress": None}}).chosen[0] == "paid"


def test_what_a_later_release_adds_does_not_break_a_reader() -> None:
    """Unknown keys pass; an unknown state chooses nothing."""
    loan = {"principal_due": {"amount": "7"}, "annual_interest_rate": 60, "interest_paid": "9", "later": 1}
    assert msgspec.convert(loan, lpp.Loan).value() == (7, 60, 9)
    with pytest.raises(ValueError, match="no variant"):
        _ = _state({"open_failed": {"reason": "timeout"}}).chosen


def test_a_stored_lease_is_readable() -> None:
    """The raw state of an opened lease says who owes what since when, and is written back alike."""
    raw = json.dumps(STORED, separators=(",", ":")).encode()
    holding = msgspec.json.decode(raw, type=Holding)
    core = holding.lease.lease
    assert (core.loan.margin_paid_by, core.spec().close.stop_loss, core.lpn) == ("11", 700, "USDC")
    assert msgspec.json.encode(holding) == raw
