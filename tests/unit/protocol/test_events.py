"""Events as attributes, both ways."""

from __future__ import annotations

import pytest

from leasehold.protocol import events

REPAY = events.Repay(
    height=7,
    at=1_000,
    idx=0,
    to="lease",
    payment_amount=100,
    payment_symbol="USDC",
    loan_close=False,
    overdue_margin_interest=1,
    overdue_loan_interest=2,
    due_margin_interest=3,
    due_loan_interest=4,
    principal=90,
    change=0,
)
PAYMENT = [
    ("height", "7"),
    ("at", "1000"),
    ("idx", "0"),
    ("to", "lease"),
    ("payment-amount", "100"),
    ("payment-symbol", "USDC"),
    ("loan-close", "false"),
    ("overdue-margin-interest", "1"),
    ("overdue-loan-interest", "2"),
    ("due-margin-interest", "3"),
    ("due-loan-interest", "4"),
    ("principal", "90"),
    ("change", "0"),
]


def test_order_and_back() -> None:
    """A repayment's thirteen attributes come in the documented order and read back as the same event."""
    assert REPAY.attributes() == PAYMENT
    chained = [("_contract_address", "lease"), *PAYMENT, ("msg_index", "0")]
    assert events.parse("wasm-ls-repay", chained) == ("lease", REPAY)


def test_older_names() -> None:
    """Attributes of earlier releases are the current ones."""
    names = {"overdue-": "prev-", "due-": "curr-"}
    older = []
    for key, value in PAYMENT:
        for new, old in names.items():
            if key.startswith(new):
                key = key.replace(new, old, 1)
                break
        older.append((key, value))
    assert older != PAYMENT
    assert events.parse("wasm-ls-repay", older) == ("", REPAY)


def test_progress_and_settlement_share_a_type() -> None:
    """A close is settled when it has a height, otherwise it is a step of the DEX."""
    settled = events.parse("wasm-ls-close-position", [*PAYMENT, ("amount-amount", "5"), ("amount-symbol", "BTC")])
    assert settled is not None
    assert isinstance(settled[1], events.ClosePosition)
    step = events.parse("wasm-ls-close-position", [("id", "lease"), ("timeout", "retry")])
    assert step == ("", events.DexProgress(label="ls-close-position", id="lease", timeout="retry"))
    assert step[1].attributes() == [("id", "lease"), ("timeout", "retry")]


def test_liquidation_carries_thresholds_between_cause_and_amount() -> None:
    """The optional attributes keep their place."""
    liquidation = events.parse(
        "wasm-ls-liquidation",
        [
            *PAYMENT,
            ("cause", "high liability"),
            ("ltv", "900"),
            ("ltv-healthy", "830"),
            ("amount-amount", "5"),
            ("amount-symbol", "BTC"),
        ],
    )
    assert liquidation is not None
    assert [key for key, _ in liquidation[1].attributes()][13:] == [
        "cause",
        "ltv",
        "ltv-healthy",
        "amount-amount",
        "amount-symbol",
    ]


def test_repeated_receivers() -> None:
    """A dispatch lists its receivers one attribute each, possibly none."""
    parsed = events.parse("wasm-timealarm", [("_contract_address", "t"), ("receiver", "a"), ("receiver", "b")])
    assert parsed == ("t", events.Dispatched(label="timealarm", receivers=["a", "b"]))
    assert parsed[1].attributes() == [("receiver", "a"), ("receiver", "b")]


def test_strangers_and_malformed() -> None:
    """Other events are not ours; ours without an attribute is malformed."""
    assert events.parse("transfer", []) is None
    assert events.parse("wasm", [("lease_address", "x")]) is None
    assert events.parse("wasm-other", []) is None
    with pytest.raises(events.MalformedEvent, match="wasm-ls-repay"):
        events.parse("wasm-ls-repay", PAYMENT[:-1])
    with pytest.raises(events.MalformedEvent):
        events.parse("wasm-ls-repay", [("height", "x"), *PAYMENT[1:]])
