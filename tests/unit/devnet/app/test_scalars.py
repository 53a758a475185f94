"""Numbers in messages: what is none is refused wherever it hides."""

from __future__ import annotations

from typing import Any

import pytest

from leasehold.chain.registry import registry
from leasehold.devnet.app.scalars import NotANumber, ScalarCheck


@pytest.fixture
def check() -> ScalarCheck:
    return ScalarCheck(registry())


def send(amount: str) -> Any:
    message = registry().new("cosmos.bank.v1beta1.MsgSend")
    message.amount.add(denom="ulsh", amount=amount)
    return message


@pytest.mark.parametrize(
    "amount", ["", "0", "12", "-5", "115792089237316195423570985008687907853269984665640564039457"]
)
def test_numbers_pass(check: ScalarCheck, amount: str) -> None:
    """Whole numbers of any sign, and nothing at all, are left to the handlers."""
    check.check(send(amount))


@pytest.mark.parametrize("amount", ["abc", "1.5", "1e9", " 1", "0x10", "1" * 101, "\u0663"])
def test_anything_else_is_refused(check: ScalarCheck, amount: str) -> None:
    """The refusal names the text."""
    with pytest.raises(NotANumber, match="cannot unmarshal"):
        check.check(send(amount))


def test_packed_messages_are_checked(check: ScalarCheck) -> None:
    """A proposal's or an execution's inner messages are looked into."""
    types = registry()
    inner = types.pack(send("nope"))
    nested = types.new("cosmos.authz.v1beta1.MsgExec", msgs=[inner])
    with pytest.raises(NotANumber):
        check.check(types.new("cosmos.gov.v1.MsgSubmitProposal", messages=[types.pack(nested)]))


def test_decimals_are_checked(check: ScalarCheck) -> None:
    """Decimals travel scaled, so they are whole numbers too."""
    message = registry().new("cosmos.staking.v1beta1.MsgEditValidator", commission_rate="0.1")
    with pytest.raises(NotANumber):
        check.check(message)
