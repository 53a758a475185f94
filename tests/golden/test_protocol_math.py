"""Agreement of leasehold.protocol with the recorded number tables, row by row."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leasehold.protocol import percent, position, price
from leasehold.protocol.errors import ArithmeticTrap, ComputationOverflow, Refused
from leasehold.protocol.interest import interest, pay
from leasehold.protocol.loan import LeaseLoan
from leasehold.protocol.pool import BorrowRate, Loan

ROOT = Path(os.environ.get("LEASEHOLD_GOLDEN", Path(__file__).parents[3] / "shared" / "golden"))
Row = dict[str, Any]


def _liability(given: Row) -> position.Liability:
    return position.Liability(**given["liability"])


def _spec(given: Row) -> position.PositionSpec:
    policy = position.ClosePolicy(given.get("take_profit"), given.get("stop_loss"))
    return position.PositionSpec(
        _liability(given), int(given["min_asset"]), int(given["min_transaction"]), "USDC_NOBLE", policy
    )


def _trap(compute: Callable[[], Any]) -> Any:
    try:
        return compute()
    except ArithmeticTrap as trap:
        return {"trap": trap.message}
    except ComputationOverflow:
        return None


def _legs(value: price.Price | None) -> list[str] | None:
    return None if value is None else [str(value.amount), str(value.quote)]


def _text(value: int | None) -> str | None:
    return None if value is None else str(value)


def amount_to_liquidate(given: Row) -> object:
    return str(_liability(given).to_liquidate(int(given["asset"]), int(given["debt_in_asset"])))


def borrow_amount(given: Row) -> object:
    def borrowed() -> Row:
        try:
            return {"borrow": str(_spec(given).borrow_amount(int(given["downpayment"]), given["max_ltd"]))}
        except Refused as refusal:
            return {"error": refusal.message}

    return _trap(borrowed)


def borrow_rate(given: Row) -> object:
    rate = BorrowRate(given["base"], given["optimal"], given["addon"])
    return _trap(lambda: rate.at(int(given["liability"]), int(given["balance"])))


def interest_table(given: Row) -> object:
    rate, principal, period = given["rate"], int(given["principal"]), int(given["period_ns"])

    def paid() -> Row:
        paid_for, change = pay(rate, principal, int(given["payment"]), period)
        due = interest(rate, principal, period)
        return {"interest": str(due), "paid_for_ns": str(paid_for), "change": str(change)}

    return _trap(paid)


def _lease_loan(given: Row) -> LeaseLoan:
    loan = Loan(int(given["principal"]), given["loan_rate"], int(given["interest_paid"]))
    return LeaseLoan(loan, given["margin_rate"], given["due_period"], int(given["margin_paid_by"]))


def lease_interest(given: Row) -> object:
    due = _lease_loan(given).due(int(given["at"]))
    return {
        "overdue_margin": str(due.overdue_margin),
        "overdue_interest": str(due.overdue_interest),
        "due_margin": str(due.due_margin),
        "due_interest": str(due.due_interest),
        "overdue_collect_in": due.collect_in(int(given["min_transaction"])),
    }


def lease_repayment(given: Row) -> object:
    after, receipt = _lease_loan(given).repay(int(given["now"]), int(given["payment"]))
    return {
        "payment-amount": str(receipt.total),
        "loan-close": "true" if receipt.close else "false",
        "overdue-margin-interest": str(receipt.overdue_margin),
        "overdue-loan-interest": str(receipt.overdue_interest),
        "due-margin-interest": str(receipt.due_margin),
        "due-loan-interest": str(receipt.due_interest),
        "principal": str(receipt.principal),
        "change": str(receipt.change),
        "margin_paid_by_after": str(after.margin_paid_by),
        "interest_paid_after": str(after.loan.interest_paid),
        "principal_after": str(after.loan.principal),
    }


def percent_table(given: Row) -> object:
    x, y = int(given["x"]), int(given["y"])
    return {
        "permille_of_x": str(percent.of(given["permille"], x)),
        "unbounded_of_x": _text(percent.unbounded_of(given["unbounded_permille"], x)),
        "ratio_x_y": _trap(lambda: percent.ratio(x, y)),
        "ratio_y_x": _trap(lambda: percent.ratio(y, x)),
        "complement": percent.complement(given["permille"]),
        "shown": percent.shown(given["permille"]),
    }


def pool_loan_repay(given: Row) -> object:
    loan = Loan(int(given["principal"]), given["rate"], int(given["interest_paid"]))
    by = int(given["by"])
    after, shares = loan.repay(by, int(given["payment"]))
    return {
        "interest_due": str(loan.interest_due(by)),
        "interest": str(shares.interest),
        "principal": str(shares.principal),
        "excess": str(shares.excess),
        "principal_after": str(after.principal),
        "interest_paid_after": str(after.interest_paid),
    }


def price_table(given: Row) -> object:
    p = price.price(*(int(leg) for leg in given["p"]))
    q = price.price(*(int(leg) for leg in given["q"]))
    x = int(given["x"])
    return {
        "p_reduced": _legs(p),
        "total_of_x_by_p": _text(price.total(x, p)),
        "total_of_x_by_inverse_p": _text(price.total(x, price.inverse(p))),
        "p_plus_q": _trap(lambda: _legs(price.add(p, q))),
        "p_plus_q_exact": _legs(price.add_exact(p, q)),
        "p_cross_q": _trap(lambda: _legs(price.cross(p, q))),
        "p_times_pct": _legs(price.multiply_permille(p, given["pct"])),
        "p_cmp_q": "Less" if price.less(p, q) else "Greater" if price.less(q, p) else "Equal",
    }


def position_check(given: Row) -> object:
    spec, asset, due = _spec(given), int(given["asset"]), int(given["total_due"])
    value = price.price(*(int(leg) for leg in given["price"]))

    def assess() -> Row:
        found = spec.assess(asset, due, int(given["collectable"]), value)
        fired = spec.triggered(asset, due, value)
        debt: Row
        alarms: Row | None = None
        match found:
            case position.NoDebt():
                debt = {"no_debt": True}
            case position.Steady(zone):
                debt = {"ok": {"zone_low_ltv": zone.low}}
                if fired is None:
                    armed = spec.alarms(asset, due, given["overdue_collect_in"], value)
                    alarms = {
                        "time_in_ns": armed.time_in,
                        "below": _wire(armed.below),
                        "above_or_equal": None if armed.above_or_equal is None else _wire(armed.above_or_equal),
                    }
            case position.Liquidation(None, cause):
                debt = {"liquidate": {"full": True, "cause": cause.value}}
            case position.Liquidation(amount, cause):
                debt = {"liquidate": {"partial": str(amount), "cause": cause.value}}
        return {"debt": debt, "close_policy_fires": None if fired is None else fired.kind, "alarms": alarms}

    return _trap(assess)


def _wire(value: price.Price) -> Row:
    return {"amount": {"amount": str(value.amount)}, "amount_quote": {"amount": str(value.quote)}}


MODELS: dict[str, Callable[[Row], object]] = {
    "amount_to_liquidate": amount_to_liquidate,
    "borrow_amount": borrow_amount,
    "borrow_rate": borrow_rate,
    "interest": interest_table,
    "lease_interest": lease_interest,
    "lease_repayment": lease_repayment,
    "percent": percent_table,
    "pool_loan_repay": pool_loan_repay,
    "price": price_table,
    "position_check": position_check,
}


def _tables() -> list[tuple[Path, Row]]:
    """Every JSON document below the recordings that has a topic and rows of in and out."""
    found = []
    for path in sorted((ROOT / "contracts" / "math").glob("*.json")):
        document = json.loads(path.read_text())
        if isinstance(document, dict) and "topic" in document and "rows" in document:
            found.append((path, document))
    return found


TABLES = _tables()


def _agrees(ours: object, theirs: object) -> bool:
    """Equality, where an overflow of the recording, error or missing values, is our missing value."""
    if ours is None and isinstance(theirs, dict):
        return set(theirs) == {"error"} or not any(value is not None for value in theirs.values())
    if isinstance(theirs, dict) and isinstance(ours, dict) and set(theirs) == set(ours):
        if set(theirs) == {"trap"}:
            return True
        return all(_agrees(ours[key], theirs[key]) for key in theirs)
    return ours == theirs


@pytest.mark.golden
@pytest.mark.skipif(not TABLES, reason="no recorded number tables (set LEASEHOLD_GOLDEN)")
@pytest.mark.parametrize(("path", "table"), TABLES, ids=[path.stem for path, _ in TABLES])
def test_every_row_agrees(path: Path, table: Row) -> None:
    """Each row of a table, traps included, comes out of our functions."""
    model = MODELS[table["topic"]]
    wrong = [
        (row["in"], row["out"], ours) for row in table["rows"] if not _agrees(ours := model(row["in"]), row["out"])
    ]
    assert table["rows"], f"{path.name} has no rows"
    assert not wrong, f"{len(wrong)} of {len(table['rows'])} rows of {path.name} differ, first: {wrong[0]}"
