"""The reserve: who is covered, and who may empty it."""

from __future__ import annotations

import pytest
from tests.unit.devnet.contracts.lending import ADMIN, USER, Lending, Refusal


def test_queries_and_permissions() -> None:
    """It names its currency and lease code, and obeys only the leaser."""
    lending = Lending()
    assert lending.ask("reserve", {"reserve_lpn": []}) == "USDC"
    assert lending.ask("reserve", {"config": []}) == {"lease_code_id": str(lending.codes["lease"])}
    for message in ({"dump_balance_to": USER}, {"new_lease_code": 5}):
        with pytest.raises(Refusal, match="Unauthorized access"):
            lending.tell("reserve", message, USER)
    with pytest.raises(Refusal, match="No such contract"):
        lending.tell("reserve", {"cover_liquidation_losses": {"amount": "5", "ticker": "USDC"}}, USER)


def test_emptying_it() -> None:
    """The leaser sends everything to whom it names; nothing to send is no error."""
    lending = Lending()
    lending.tell("reserve", {"dump_balance_to": ADMIN}, lending.at["leaser"])
    lending.give(lending.at["reserve"], "USDC", 77)
    lending.tell("reserve", {"dump_balance_to": ADMIN}, lending.at["leaser"])
    assert lending.held(ADMIN, "USDC") == 77
