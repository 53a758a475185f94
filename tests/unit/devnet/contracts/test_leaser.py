"""The leaser: quotes, openings, configuration, migration and the end of a protocol."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.devnet.contracts.lending import ADMIN, DAY, LENDER, LIABILITY, OWNER, SPEC, USER, Lending, Refusal


@pytest.fixture
def lending() -> Lending:
    return Lending()


def _quote(lending: Lending, amount: int, ticker: str = "USDC", **more: Any) -> Any:
    downpayment = {"amount": str(amount), "ticker": ticker}
    return lending.ask("leaser", {"quote": {"downpayment": downpayment, "lease_asset": "BTC", **more}})


def test_quotes(lending: Lending) -> None:
    """A quote names what is bought, borrowed and paid for it; less on request, nothing for nothing."""
    assert _quote(lending, 100_000_000) == {
        "total": {"amount": "396825", "ticker": "BTC"},
        "borrow": {"amount": "150000000", "ticker": "USDC"},
        "annual_interest_rate": 60,
        "annual_interest_rate_margin": 40,
    }
    assert _quote(lending, 100_000_000, max_ltd=500)["borrow"]["amount"] == "50000000"
    assert _quote(lending, 10**9, "OSMO")["borrow"]["amount"] == "49500000"
    with pytest.raises(Refusal, match="Cannot open lease with zero downpayment"):
        _quote(lending, 0)
    with pytest.raises(Refusal, match="No Liquidity"):
        _quote(lending, 10**13)


def test_a_quote_opens_as_quoted(lending: Lending) -> None:
    """The loan drawn is the loan quoted, and the owner's list has the lease."""
    lease = lending.open()
    assert lending.ask("lpp", {"loan": {"lease_addr": lease}})["principal_due"] == {"amount": "150000000"}
    assert lending.ask("leaser", {"leases": {"owner": USER}}) == [lease]
    assert lending.ask("leaser", {"leases": {"owner": OWNER}}) == []


def test_openings_that_are_refused(lending: Lending) -> None:
    """Too little, nothing known, or nothing at all: no lease, no loan, the coins stay."""
    for coins, text in (
        ((), "No payment sent"),
        ((("USDC", 999_999),), "The transaction amount should worth at least 1000000 USDC"),
        ((("USDC", 5_000_000),), "The asset amount should worth at least 15000000 USDC"),
    ):
        with pytest.raises(Refusal, match=text):
            lending.tell("leaser", {"open_lease": {"currency": "BTC"}}, USER, *coins)
    assert lending.ask("leaser", {"leases": {"owner": USER}}) == []
    assert lending.held(USER, "USDC") == 10**12


def test_configuration_is_the_administrators(lending: Lending) -> None:
    """The lease administrator, or governance, changes what later leases get."""
    config = {
        "lease_interest_rate_margin": 55,
        "lease_position_spec": SPEC,
        "lease_due_period": DAY,
        "lease_max_slippages": {"liquidation": 100},
    }
    with pytest.raises(Refusal, match=r"Check permission failed, cause: .* Unauthorized access"):
        lending.tell("leaser", {"config_leases": config}, USER)
    lending.tell("leaser", {"config_leases": config}, ADMIN)
    assert lending.ask("leaser", {"max_slippages": {}}) == {"liquidation": 100}
    lending.tell("leaser", {"change_lease_admin": {"new": OWNER}}, ADMIN)
    assert lending.ask("leaser", {"check_close_position_permission": {"by": OWNER}}) == "yes"
    assert lending.ask("leaser", {"check_anomaly_resolution_permission": {"by": ADMIN}}) == "no"
    broken = {**config, "lease_position_spec": {**SPEC, "liability": {**LIABILITY, "healthy": 850}}}
    with pytest.raises(Refusal, match="Healthy % should be < first liquidation %"):
        lending.govern("leaser", {"config": broken})


def test_only_leases_are_finalized(lending: Lending) -> None:
    """A stranger can't take a lease off its owner's list."""
    lending.open()
    with pytest.raises(Refusal, match="No such contract"):
        lending.tell("leaser", {"finalize_lease": {"customer": USER}}, USER)


def test_migration_in_batches(lending: Lending) -> None:
    """Leases migrate customer by customer; pool and reserve learn the new code with the first batch."""
    lease = lending.open()
    release = {"software": "v0.8.24", "protocol": "v0.8.24"}
    code = str(lending.codes["lease_next"])
    message = {"migrate_leases": {"new_code_id": code, "to_release": release, "max_leases": 0}}
    with pytest.raises(Refusal, match="Unauthorized access"):
        lending.tell("leaser", message, USER)
    unknown = {"migrate_leases": {**message["migrate_leases"], "new_code_id": "99"}}
    with pytest.raises(Refusal, match="An error occured while querying code info"):
        lending.tell("leaser", unknown, OWNER)
    lending.tell("leaser", message, OWNER)
    assert lending.seen("migrate-leases")[0]["contunuation-key"] == USER
    assert lending.ask("lpp", {"config": []})["lease_code"] == int(code)
    with pytest.raises(Refusal, match="Expecting code id"):
        lending.tell(lease, {"repay": []}, USER, ("USDC", 5_000_000))
    again = {"migrate_leases_cont": {"key": USER, "to_release": release, "max_leases": 5}}
    lending.tell("leaser", again, OWNER)
    assert lending.seen("migrate-leases")[0]["status"] == "done"
    lending.tell(lease, {"repay": []}, USER, ("USDC", 5_000_000))
    other = {**again["migrate_leases_cont"], "to_release": {**release, "software": "other"}}
    with pytest.raises(Refusal, match="The package release does not match the currently migration target"):
        lending.tell("leaser", {"migrate_leases_cont": other}, OWNER)


def test_a_protocol_closes_when_no_lease_is_left(lending: Lending) -> None:
    """Deposits go back, the reserve goes to the administrator, and the contracts become inert."""
    spec = {"code_id": str(lending.codes["void"]), "migrate_message": {}, "post_migrate_execute": None}
    names = ("leaser", "lpp", "oracle", "profit", "reserve")
    message = {"close_protocol": {"migration_spec": dict.fromkeys(names, spec)}}
    lease = lending.open()
    with pytest.raises(Refusal, match=r"The protocol is still in use\. There are open leases"):
        lending.govern("leaser", message)
    lending.feed(BTC=630)
    lending.tell(lease, {"repay": []}, USER, ("USDC", 200_000_000))
    lending.relay(lease)
    lending.give(lending.at["reserve"], "USDC", 1234)
    lending.govern("leaser", message)
    assert lending.held(ADMIN, "USDC") == 1234
    assert lending.held(LENDER, "USDC") >= 10**13
    assert lending.ask("admin", {"protocols": {}}) == []
    with pytest.raises(Refusal, match="unknown variant `deposit`"):
        lending.tell("lpp", {"deposit": []}, LENDER, ("USDC", 5))
