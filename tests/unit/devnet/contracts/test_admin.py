"""The registry: registering, creating contracts, letting protocols go, and governance's migrations."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.devnet.contracts.lending import OWNER, USER, Lending, Refusal

PARTS = ("leaser", "lpp", "oracle", "profit", "reserve")


@pytest.fixture
def lending() -> Lending:
    return Lending()


def _protocol(lending: Lending, **other: str) -> dict[str, Any]:
    contracts = {part: lending.at[part] for part in PARTS} | other
    return {"network": "Osmosis", "dex": "Osmosis", "contracts": contracts}


def _register(lending: Lending, name: str, sender: str = OWNER, **other: str) -> None:
    message = {"register_protocol": {"name": name, "protocol": _protocol(lending, **other)}}
    lending.tell("admin", message, sender)


def _spec(code: int) -> dict[str, Any]:
    return {"code_id": str(code), "migrate_message": {}, "post_migrate_execute": None}


def test_names_in_byte_order(lending: Lending) -> None:
    """Protocols are listed by name, whenever they were registered, and answered as registered."""
    _register(lending, "ZETA")
    _register(lending, "ALPHA")
    assert lending.ask("admin", {"protocols": {}}) == ["ALPHA", "TEST", "ZETA"]
    assert lending.ask("admin", {"protocol": "ZETA"}) == _protocol(lending)
    platform = lending.ask("admin", {"platform": {}})
    assert platform == {name: lending.at[name] for name in ("timealarms", "treasury")}


def test_registration_rules(lending: Lending) -> None:
    """The administrator registers contracts, under a new name; governance needs no administrator."""
    with pytest.raises(Refusal, match="Unauthorized access"):
        _register(lending, "NEW", USER)
    with pytest.raises(Refusal, match="Protocol's friendly name: TEST"):
        _register(lending, "TEST")
    with pytest.raises(Refusal, match=f"No such contract: {USER}"):
        _register(lending, "NEW", lpp=USER)
    lending.govern("admin", {"register_protocol": {"name": "NEW", "protocol": _protocol(lending)}})
    with pytest.raises(Refusal, match=r"key: \[00, 12, 70, .* 4E, 4F, 50, 45\] not found"):
        lending.ask("admin", {"protocol": "NOPE"})
    lending.govern("admin", {"change_dex_admin": {"new_dex_admin": USER}})
    _register(lending, "NEWER", USER)


def test_contracts_at_foretold_addresses(lending: Lending) -> None:
    """A contract is created where the query said; another expectation undoes it."""
    query = {"instantiate_address": {"code_id": str(lending.codes["reserve"]), "protocol": "NEW"}}
    foretold = lending.ask("admin", query)
    message = {
        "code_id": str(lending.codes["reserve"]),
        "expected_address": USER,
        "protocol": "NEW",
        "label": "NEW-reserve",
        "message": f'{{"protocol_admin":"{OWNER}","lease_code":"4"}}',
    }
    with pytest.raises(Refusal, match=f'Contract returned wrong address! Expected "{USER}", but got "{foretold}"!'):
        lending.tell("admin", {"instantiate": message}, OWNER)
    with pytest.raises(Refusal, match="no such contract"):
        lending.ask(foretold, {"config": []})
    lending.tell("admin", {"instantiate": {**message, "expected_address": foretold}}, OWNER)
    assert lending.ask(foretold, {"config": []}) == {"lease_code_id": "4"}
    assert lending.runtime.record(lending.store, foretold).admin == lending.at["admin"]


def test_only_a_registered_leaser_lets_its_protocol_go(lending: Lending) -> None:
    """Deregistration removes the entry and makes the five contracts inert."""
    message = {"deregister_protocol": {part: _spec(lending.codes["void"]) for part in PARTS}}
    with pytest.raises(Refusal, match="not sent by a registered protocol leaser!"):
        lending.tell("admin", message, OWNER)
    lending.tell("admin", message, lending.at["leaser"])
    assert lending.ask("admin", {"protocols": {}}) == []
    for part in PARTS:
        assert lending.runtime.record(lending.store, lending.at[part]).code_id == lending.codes["void"]
        with pytest.raises(Refusal, match="Aborted: not implemented"):
            lending.ask(part, {"config": {}})
        lending.tell(part, {"time_alarm": {}}, USER)
        with pytest.raises(Refusal, match="unknown variant `deposit`, expected `time_alarm`"):
            lending.tell(part, {"deposit": []}, USER)


def test_governance_migrates_what_it_names(lending: Lending) -> None:
    """Migrations name a release; each contract checks that it is its own."""
    for name in ("oracle", "timealarms"):
        record = lending.runtime.record(lending.store, lending.at[name])
        if record.admin != lending.at["admin"]:
            lending.runtime.update_admin(lending._call(lending.store), OWNER, lending.at[name], lending.at["admin"])
    spec = {
        "platform": {"some": {"timealarms": _spec(lending.codes["timealarms"])}},
        "protocol": {"TEST": ["v0.8.24", {"some": {"oracle": _spec(lending.codes["oracle"])}}]},
    }
    lending.govern("admin", {"migrate_contracts": {"to_release": "v0.8.24", "migration_spec": spec}})
    migrated = [attributes["_contract_address"] for kind, attributes in lending.events if kind == "migrate"]
    assert migrated == [lending.at["timealarms"], lending.at["oracle"]]
    with pytest.raises(Refusal, match=r'release is "v0\.8\.24", the release being migrated to is "no"'):
        lending.govern("admin", {"migrate_contracts": {"to_release": "no", "migration_spec": spec}})


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"platform": None, "protocol": {}}, "Protocol not mentioned under either migration messages"),
        (
            {"platform": None, "protocol": {"TEST": ["v", None], "X": ["v", None]}},
            "No protocol set of contracts exists for this protocol name! Protocol's friendly name: X",
        ),
        ({"platform": 5, "protocol": {}}, "kind: Serialization"),
        ({"platform": {"some": {"treasury": {"code_id": 5}}}, "protocol": {}}, "kind: Serialization"),
    ],
)
def test_refused_migrations(lending: Lending, spec: Any, text: str) -> None:
    """Every registered protocol must be named, no other may be, and ill shapes are refused."""
    with pytest.raises(Refusal, match=text):
        lending.govern("admin", {"migrate_contracts": {"to_release": "v0.8.24", "migration_spec": spec}})


def test_governance_tells_contracts(lending: Lending) -> None:
    """Messages reach the contracts they are for, in the registry's name."""
    message = {"message": {"dispatch_alarms": {"max_count": 1}}}
    lending.govern(
        "admin",
        {
            "execute_contracts": {
                "platform": {"some": {"timealarms": message}},
                "protocol": {"TEST": {"some": {"oracle": message}}},
            }
        },
    )
    assert [len(lending.seen(kind)) for kind in ("timealarm", "pricealarm")] == [1, 1]


def test_void_is_never_created(lending: Lending) -> None:
    """The inert code only takes over."""
    with pytest.raises(Refusal, match="Instantiation of a Void contract is not allowed!"):
        lending.create("void", {})
