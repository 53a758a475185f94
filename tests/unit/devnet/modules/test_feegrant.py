"""Feegrant: fees paid by another account, within limits."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.devnet.modules.unsigned_chain import DENOM, SECOND, UnsignedChain

from leasehold.devnet.app.coins import Coin
from leasehold.devnet.app.errors import ChainError
from leasehold.devnet.modules.instants import set_instant
from leasehold.devnet.modules.participants import lossy_text

PACKAGE = "cosmos.feegrant.v1beta1."


@pytest.fixture
def chain() -> UnsignedChain:
    chain = UnsignedChain("ann", "bob")
    chain.seal()
    return chain


def basic(chain: UnsignedChain, amount: int, *, seconds: int | None = None) -> Any:
    allowance = chain.message(PACKAGE + "BasicAllowance", spend_limit=[chain.coin(amount)] if amount else [])
    if seconds is not None:
        set_instant(allowance.expiration, chain.block.time_ns + seconds * SECOND)
    return allowance


def grant(chain: UnsignedChain, allowance: Any) -> Any:
    return chain.message(
        PACKAGE + "MsgGrantAllowance",
        granter=chain.account("ann"),
        grantee=chain.account("bob"),
        allowance=chain.registry.pack(allowance),
    )


def use(chain: UnsignedChain, amount: int, *messages: Any) -> list[str]:
    """Types of the events of a use; a refused one changes nothing."""
    with chain.context().branch() as ctx:
        chain.modules.feegrant.use(ctx, chain.address("ann"), chain.address("bob"), (Coin(DENOM, amount),), messages)
    return [event.type for event in ctx.events]


def test_a_limit_is_used_up(chain: UnsignedChain) -> None:
    """Every fee lowers it; beyond it nothing is paid; the last unit ends the grant."""
    chain.done(grant(chain, basic(chain, 100)))
    assert use(chain, 60) == ["use_feegrant", "update_feegrant"]
    with pytest.raises(ChainError, match="basic allowance: fee limit exceeded"):
        use(chain, 41)
    assert use(chain, 40) == ["revoke_feegrant", "use_feegrant"]
    with pytest.raises(ChainError, match="fee-grant not found: not found"):
        use(chain, 1)


def test_no_limit_means_any_fee(chain: UnsignedChain) -> None:
    """An allowance without a limit pays everything until it expires."""
    chain.done(grant(chain, basic(chain, 0, seconds=10)))
    use(chain, 10**9)
    chain.seal(seconds=11)
    with pytest.raises(ChainError, match="not found"):
        use(chain, 1)


def test_a_period_renews(chain: UnsignedChain) -> None:
    """Within a period its own limit counts; the next one starts afresh, never beyond the total."""
    allowance = chain.message(PACKAGE + "PeriodicAllowance", basic=basic(chain, 150))
    allowance.period.seconds = 60
    allowance.period_spend_limit.append(chain.coin(100))
    set_instant(allowance.period_reset, chain.block.time_ns)
    chain.done(grant(chain, allowance))
    use(chain, 90)
    with pytest.raises(ChainError, match="period limit: fee limit exceeded"):
        use(chain, 11)
    chain.seal(seconds=60)
    with pytest.raises(ChainError, match="period limit: fee limit exceeded"):
        use(chain, 61)
    assert use(chain, 60) == ["revoke_feegrant", "use_feegrant"]


def test_only_allowed_messages(chain: UnsignedChain) -> None:
    """A filtered allowance pays for the messages it names."""
    allowance = chain.message(
        PACKAGE + "AllowedMsgAllowance",
        allowance=chain.registry.pack(basic(chain, 100)),
        allowed_messages=["/cosmos.bank.v1beta1.MsgSend"],
    )
    chain.done(grant(chain, allowance))
    use(chain, 10, chain.message("cosmos.bank.v1beta1.MsgSend"))
    with pytest.raises(ChainError, match="message does not exist in allowed messages: message not allowed"):
        use(chain, 10, chain.message("cosmos.gov.v1.MsgVote"))


def test_one_grant_at_a_time(chain: UnsignedChain) -> None:
    """A second grant to the same account is refused until the first is revoked."""
    chain.done(grant(chain, basic(chain, 100)))
    assert chain.run(grant(chain, basic(chain, 100))).log == "fee allowance already exists: invalid request"
    revoke = chain.message(PACKAGE + "MsgRevokeAllowance", granter=chain.account("ann"), grantee=chain.account("bob"))
    chain.done(revoke)
    chain.done(grant(chain, basic(chain, 100)))


def test_the_refusal_shows_raw_addresses(chain: UnsignedChain) -> None:
    """The real chain prints bytes here, each invalid one replaced by itself."""
    with pytest.raises(ChainError) as refusal:
        use(chain, 1)
    granter, grantee = (lossy_text(chain.address(name)) for name in ("ann", "bob"))
    expected = f"{granter} does not allow to pay fees for {grantee}: fee-grant not found: not found"
    assert refusal.value.log == expected


def test_lossy_text_replaces_single_bytes() -> None:
    """Bytes that are not UTF-8 become one mark each; valid text stays."""
    assert lossy_text(b"a\xe2\x82\xacb") == "a\u20acb"
    assert lossy_text(b"\xe2\x82(\xff") == "\ufffd\ufffd(\ufffd"
