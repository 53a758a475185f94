from __future__ import annotations

from leasehold.chain.interfaces import MSG, holds_any, interfaces
from leasehold.chain.registry import registry

TYPES = registry()
KNOWN = interfaces(TYPES)


def test_messages_of_msg_services_are_messages() -> None:
    """Everything a Msg service takes can stand in a transaction; what it answers can not."""
    messages = KNOWN.implementations[MSG]
    assert "/cosmos.bank.v1beta1.MsgSend" in messages
    assert "/leasehold.vestings.v1beta1.MsgCreateVestingAccount" in messages
    assert "/cosmos.bank.v1beta1.MsgSendResponse" not in messages
    assert "/cosmos.bank.v1beta1.MsgSendResponse" in KNOWN.implementations["cosmos.tx.v1beta1.MsgResponse"]


def test_options_and_registrations_are_joined() -> None:
    """Accounts declared by option and those registered in code implement the same interface."""
    accounts = KNOWN.implementations["cosmos.auth.v1beta1.AccountI"]
    assert {"/cosmos.auth.v1beta1.BaseAccount", "/cosmos.vesting.v1beta1.PeriodicVestingAccount"} <= set(accounts)


def test_every_registered_type_is_defined() -> None:
    """No interface names a type the registry lacks."""
    for url in KNOWN.registered:
        assert TYPES.resolve(url).DESCRIPTOR.full_name == url[1:]


def test_types_that_may_hold_an_any_are_known() -> None:
    """The walk over packed messages skips types that can't hold any, and survives types that hold themselves."""
    assert holds_any(TYPES.type("cosmos.tx.v1beta1.AuthInfo").DESCRIPTOR)
    assert not holds_any(TYPES.type("cosmos.tx.v1beta1.ModeInfo").DESCRIPTOR)
    assert not holds_any(TYPES.type("cosmos.base.v1beta1.Coin").DESCRIPTOR)
