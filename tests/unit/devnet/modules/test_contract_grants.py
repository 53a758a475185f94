"""Grants to call contracts for another: what they allow, what is left of them, and which make no sense."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.devnet.modules.idle_contract import WASM, idle_chain, instance
from tests.unit.devnet.modules.unsigned_chain import UnsignedChain

AUTHZ = "cosmos.authz.v1beta1."
ANYTHING = (WASM + "AllowAllMessagesFilter", {})


@pytest.fixture
def chain() -> UnsignedChain:
    return idle_chain("ann", "bob")


def allowed(chain: UnsignedChain, contract: str, limit: tuple[str, Any], wanted: tuple[str, Any] = ANYTHING) -> Any:
    """One grant of a contract authorization."""
    grant = chain.message(WASM + "ContractGrant", contract=contract)
    for packed, (name, fields) in ((grant.limit, limit), (grant.filter, wanted)):
        packed.CopyFrom(chain.registry.pack(chain.message(name, **fields)))
    return grant


def given(chain: UnsignedChain, *grants: Any) -> Any:
    """The message by which Ann lets Bob call contracts."""
    message = chain.message(AUTHZ + "MsgGrant", granter=chain.account("ann"), grantee=chain.account("bob"))
    authorization = chain.message(WASM + "ContractExecutionAuthorization", grants=grants)
    message.grant.authorization.CopyFrom(chain.registry.pack(authorization))
    return message


def call(chain: UnsignedChain, contract: str, payload: bytes = b'{"go":{}}', funds: int = 0) -> Any:
    """Bob calls a contract as Ann."""
    coins = [chain.coin(funds)] if funds else []
    message = chain.message(
        WASM + "MsgExecuteContract", sender=chain.account("ann"), contract=contract, msg=payload, funds=coins
    )
    return chain.message(AUTHZ + "MsgExec", grantee=chain.account("bob"), msgs=[chain.registry.pack(message)])


def calls(count: int) -> tuple[str, Any]:
    return WASM + "MaxCallsLimit", {"remaining": count}


def test_calls_are_counted(chain: UnsignedChain) -> None:
    """Each call lowers the number, the last one ends the grant; money is not among what such a grant allows."""
    contract = instance(chain)
    chain.done(given(chain, allowed(chain, contract, calls(2))))
    assert chain.run(call(chain, contract, funds=1)).log == "unauthorized"
    chain.done(call(chain, contract))
    assert chain.done(call(chain, contract)).events[0].type == AUTHZ + "EventRevoke"
    assert "authorization not found" in chain.run(call(chain, contract)).log


@pytest.mark.parametrize("combined", [False, True])
def test_money_is_counted(chain: UnsignedChain, combined: bool) -> None:
    """What is spent is left out of the next limit; more than is left is refused, nothing left is the end."""
    contract = instance(chain)
    amounts = {"amounts": [chain.coin(100)]}
    limit = (
        (WASM + "CombinedLimit", {**amounts, "calls_remaining": 9}) if combined else (WASM + "MaxFundsLimit", amounts)
    )
    chain.done(given(chain, allowed(chain, contract, limit)))
    chain.done(call(chain, contract, funds=60))
    assert chain.run(call(chain, contract, funds=41)).log == "unauthorized"
    chain.done(call(chain, contract))
    assert chain.done(call(chain, contract, funds=40)).events[0].type == AUTHZ + "EventRevoke"


def test_combined_limits_end_with_their_calls(chain: UnsignedChain) -> None:
    """The last call ends a grant however much money is left."""
    contract = instance(chain)
    limit = (WASM + "CombinedLimit", {"amounts": [chain.coin(100)], "calls_remaining": 1})
    chain.done(given(chain, allowed(chain, contract, limit)))
    chain.done(call(chain, contract, funds=1))
    assert "authorization not found" in chain.run(call(chain, contract)).log


def test_only_some_messages(chain: UnsignedChain) -> None:
    """Messages are allowed by their only member or to the letter; another grant of the contract may allow more."""
    contract = instance(chain)
    by_key = (WASM + "AcceptedMessageKeysFilter", {"keys": ["go", "stop"]})
    to_the_letter = (WASM + "AcceptedMessagesFilter", {"messages": [b'{"sit":1}']})
    chain.done(
        given(chain, allowed(chain, contract, calls(9), by_key), allowed(chain, contract, calls(1), to_the_letter))
    )
    chain.done(call(chain, contract, b'{"stop":{}}'))
    for payload in (b'{"run":{}}', b'{"go":{},"stop":{}}', b'["go"]', b'{"sit":2}'):
        assert chain.run(call(chain, contract, payload)).log == "unauthorized"
    chain.done(call(chain, contract, b'{"sit":1}'))
    assert chain.run(call(chain, contract, b'{"sit":1}')).log == "unauthorized"
    chain.done(call(chain, contract, b'{"go":{}}'))
    (left,) = chain.ask(AUTHZ + "Query/GranterGrants", granter=chain.account("ann")).grants
    authorization = chain.registry.unpack(left.authorization)
    (kept,) = authorization.grants
    assert chain.registry.unpack(kept.limit).remaining == 7


def test_other_contracts_are_not_meant(chain: UnsignedChain) -> None:
    """A grant is for the contract it names."""
    chain.done(given(chain, allowed(chain, instance(chain), calls(2))))
    assert chain.run(call(chain, instance(chain))).log == "unauthorized"


def test_grants_that_make_no_sense(chain: UnsignedChain) -> None:
    """Each is refused with its place and what is wrong."""
    contract = instance(chain)
    keys, messages = WASM + "AcceptedMessageKeysFilter", WASM + "AcceptedMessagesFilter"
    assert chain.run(given(chain)).log == "grants: empty"
    wrong = {
        "position 0: limit: remaining calls: empty": allowed(chain, contract, calls(0)),
        "position 0: limit: amounts: empty": allowed(chain, contract, (WASM + "MaxFundsLimit", {})),
        "position 0: filter: keys: empty": allowed(chain, contract, calls(1), (keys, {})),
        "position 0: filter: key: empty": allowed(chain, contract, calls(1), (keys, {"keys": [""]})),
        'position 0: filter: key " a" contains whitespaces: invalid': allowed(
            chain, contract, calls(1), (keys, {"keys": [" a"]})
        ),
        'position 0: filter: key "a": duplicate': allowed(chain, contract, calls(1), (keys, {"keys": ["a", "a"]})),
        "position 0: filter: messages: empty": allowed(chain, contract, calls(1), (messages, {})),
        "position 0: filter: invalid": allowed(chain, contract, calls(1), (messages, {"messages": [b"{"]})),
        "position 0: filter: message: duplicate": allowed(
            chain, contract, calls(1), (messages, {"messages": [b"{}", b"{}"]})
        ),
    }
    for log, grant in wrong.items():
        assert chain.run(given(chain, grant)).log == log
    bare = chain.message(WASM + "ContractGrant", contract=contract)
    assert chain.run(given(chain, bare)).log == "position 0: limit: undefined limit: invalid type"
    assert chain.run(given(chain, allowed(chain, "nobody", calls(1)))).log.startswith(
        "position 0: contract: decoding bech32"
    )
