"""Authz: acting for another account, as far as it was allowed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.devnet.modules.unsigned_chain import DENOM, SECOND, UnsignedChain

from leasehold.devnet.modules.instants import set_instant

MILLION = 1_000_000
AUTHZ = "cosmos.authz.v1beta1."


@pytest.fixture
def chain() -> UnsignedChain:
    chain = UnsignedChain("one", "ann", "bob", "eve")
    chain.seal(chain.create_validator("one", 10 * MILLION))
    return chain


def grant(chain: UnsignedChain, authorization: Any, *, seconds: int | None = None) -> Any:
    message = chain.message(AUTHZ + "MsgGrant", granter=chain.account("ann"), grantee=chain.account("bob"))
    message.grant.authorization.CopyFrom(chain.registry.pack(authorization))
    if seconds is not None:
        set_instant(message.grant.expiration, chain.block.time_ns + seconds * SECOND)
    return message


def limited(chain: UnsignedChain, amount: int, *allowed: str) -> Any:
    return chain.message(
        "cosmos.bank.v1beta1.SendAuthorization",
        spend_limit=[chain.coin(amount)],
        allow_list=[chain.account(name) for name in allowed],
    )


def send(chain: UnsignedChain, amount: int, to: str = "eve") -> Any:
    return chain.message(
        "cosmos.bank.v1beta1.MsgSend",
        from_address=chain.account("ann"),
        to_address=chain.account(to),
        amount=[chain.coin(amount)],
    )


def execute(chain: UnsignedChain, *messages: Any) -> Any:
    packed = [chain.registry.pack(message) for message in messages]
    return chain.message(AUTHZ + "MsgExec", grantee=chain.account("bob"), msgs=packed)


def test_a_send_limit_is_used_up(chain: UnsignedChain) -> None:
    """Each use lowers the limit; the last one ends the grant."""
    event = chain.done(grant(chain, limited(chain, 1000))).events[0]
    assert event.type == "cosmos.authz.v1beta1.EventGrant"
    assert [key for key, _ in event.attributes] == ["grantee", "granter", "msg_type_url"]
    assert event.attributes[2][1] == '"/cosmos.bank.v1beta1.MsgSend"'
    outcome = chain.done(execute(chain, send(chain, 400)))
    assert all(event.attributes[-1] == ("authz_msg_index", "0") for event in outcome.events)
    assert chain.run(execute(chain, send(chain, 601))).log == (
        "requested amount is more than spend limit: insufficient funds"
    )
    outcome = chain.done(execute(chain, send(chain, 600)))
    assert outcome.events[0].type == "cosmos.authz.v1beta1.EventRevoke"
    assert "authorization not found" in chain.run(execute(chain, send(chain, 1))).log


def test_only_allowed_recipients(chain: UnsignedChain) -> None:
    """A list of recipients binds."""
    chain.done(grant(chain, limited(chain, 1000, "one")))
    assert (
        chain.run(execute(chain, send(chain, 1))).log == f"cannot send to {chain.account('eve')} address: unauthorized"
    )
    chain.done(execute(chain, send(chain, 1, "one")))


def test_a_generic_grant_allows_one_type(chain: UnsignedChain) -> None:
    """Anything of its type, nothing else, until it is revoked."""
    vote = chain.message(AUTHZ + "GenericAuthorization", msg="/cosmos.bank.v1beta1.MsgSend")
    chain.done(grant(chain, vote))
    chain.done(execute(chain, send(chain, 10**6), send(chain, 1)))
    delegate = chain.stake("MsgDelegate", "ann", "one", 5)
    log = chain.run(execute(chain, delegate)).log
    by, to = chain.account("ann"), chain.account("bob")
    assert log == (
        f"failed to get grant with given granter: {by}, grantee: {to} & msgType: "
        "/cosmos.staking.v1beta1.MsgDelegate : authorization not found"
    )
    chain.done(chain.message(AUTHZ + "MsgRevoke", granter=by, grantee=to, msg_type_url="/cosmos.bank.v1beta1.MsgSend"))
    assert chain.run(execute(chain, send(chain, 1))).error is not None


def test_a_stake_grant_binds_amount_and_validators(chain: UnsignedChain) -> None:
    """Delegating for another stops at the limit and at validators not named."""
    authorization = chain.message("cosmos.staking.v1beta1.StakeAuthorization", authorization_type=1)
    authorization.max_tokens.CopyFrom(chain.coin(100))
    authorization.allow_list.address.append(chain.operator("one"))
    chain.done(grant(chain, authorization))
    chain.done(execute(chain, chain.stake("MsgDelegate", "ann", "one", 60)))
    assert chain.run(execute(chain, chain.stake("MsgDelegate", "ann", "one", 41))).error is not None
    other = execute(chain, chain.stake("MsgDelegate", "ann", "eve", 1))
    assert chain.run(other).log == f"cannot delegate/undelegate to {chain.operator('eve')} validator: unauthorized"


def test_grants_expire(chain: UnsignedChain) -> None:
    """A grant ends with its time and is swept away; one in the past is refused."""
    assert (
        "expiration must be after the current block time" in chain.run(grant(chain, limited(chain, 5), seconds=0)).log
    )
    chain.done(grant(chain, limited(chain, 5), seconds=30))
    assert len(chain.ask(AUTHZ + "Query/GranterGrants", granter=chain.account("ann")).grants) == 1
    chain.seal(seconds=30)
    assert len(chain.ask(AUTHZ + "Query/GranterGrants", granter=chain.account("ann")).grants) == 0


def test_a_failing_message_is_shown(chain: UnsignedChain) -> None:
    """The refusal of an inner message carries its dump."""
    chain.done(grant(chain, limited(chain, 10**15)))
    log = chain.run(execute(chain, send(chain, 10**14))).log
    dump = (
        f'from_address:"{chain.account("ann")}" to_address:"{chain.account("eve")}" '
        f'amount:<denom:"{DENOM}" amount:"100000000000000" > '
    )
    assert log.startswith(f"failed to execute message; message {dump}: spendable balance ")


def test_nobody_grants_to_oneself(chain: UnsignedChain) -> None:
    """Granter and grantee differ, and the granted type exists."""
    message = grant(chain, limited(chain, 5))
    message.grantee = message.granter
    assert chain.run(message).log == "grantee and granter should be different"
    unknown = grant(chain, chain.message(AUTHZ + "GenericAuthorization", msg="/nope"))
    assert chain.run(unknown).log == "/nope doesn't exist.: invalid type"


def test_one_s_own_messages_need_no_grant(chain: UnsignedChain) -> None:
    """Executing a message of one's own just runs it."""
    own = chain.message("cosmos.bank.v1beta1.MsgSend", from_address=chain.account("bob"),
                        to_address=chain.account("eve"), amount=[chain.coin(3)])  # fmt: skip
    chain.done(execute(chain, own))
