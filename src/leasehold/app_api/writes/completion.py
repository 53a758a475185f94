"""A built transaction made ready to sign: the signer filled in, gas estimated by the chain, the fee for it.

The chain simulates a transaction without a signature; nothing is broadcast.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Any

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.upstreams import chain
from leasehold.app_api.upstreams.failures import ChainFailure
from leasehold.app_api.upstreams.lcd import refusal_of
from leasehold.app_api.writes.messages import Message, signed_by
from leasehold.chain.json_codec import json_codec
from leasehold.core.errors import InvalidInput

Absent = msgspec.UnsetType
UNSET = msgspec.UNSET
_LONGEST_REASON = 400
_DIRECT = 1


class FeeCoin(msgspec.Struct):
    amount: str
    denom: str


class Fee(msgspec.Struct):
    """What to pay for the gas limit, in base units of the native token."""

    amount: list[FeeCoin]
    gas_limit: str


class Gas(msgspec.Struct):
    """What the chain used when it simulated the transaction, and the limit to ask for."""

    used: str
    limit: str


class Signer(msgspec.Struct):
    """What a signature is made over besides the transaction."""

    account_number: str
    sequence: str
    chain_id: str


class TransactionResponse(msgspec.Struct, omit_defaults=True):
    """Unsigned messages in proto-JSON; with a `sender` in the request also gas, fee and signer."""

    messages: list[dict[str, Any]]
    memo: str
    gas: Gas | Absent = UNSET
    fee: Fee | Absent = UNSET
    signer: Signer | Absent = UNSET


class EarnTransactionResponse(TransactionResponse):
    """Unsigned messages for a pool."""


class LeaseTransactionResponse(TransactionResponse):
    """Unsigned messages for a leaser or a lease."""


class StakingTransactionResponse(TransactionResponse):
    """Unsigned messages of staking."""


class GovernanceTransactionResponse(TransactionResponse):
    """Unsigned messages of governance."""


class _GasInfo(msgspec.Struct):
    gas_used: str


class _Simulated(msgspec.Struct):
    gas_info: _GasInfo


async def completed(app: App, messages: Sequence[Message], memo: str, sender: str) -> dict[str, Any]:
    """Members of a response that is ready to sign; InvalidInput where the chain would refuse the transaction."""
    filled = [signed_by(message, sender) for message in messages]
    signer = await signer_of(app, sender)
    if not filled:
        return {"messages": filled, "memo": memo, "signer": signer}
    used = await simulated(app, unsigned(app, filled, memo, int(signer.sequence)))
    fees = app.cells.gas_fees.value
    denom = app.settings.identity.base_denom
    limit = ceil(used * Fraction(Decimal(str(fees.gas_multiplier))))
    price = Fraction(Decimal(fees.gas_prices[denom]))
    fee = Fee([FeeCoin(str(ceil(limit * price)), denom)], str(limit))
    return {"messages": filled, "memo": memo, "gas": Gas(str(used), str(limit)), "fee": fee, "signer": signer}


async def signer_of(app: App, sender: str) -> Signer:
    """Number and sequence of an account; one the chain has never seen can't sign."""
    try:
        found = (await chain.account(app.upstreams.lcd, sender)).account
    except ChainFailure as error:
        if error.reply_status == 404:
            raise InvalidInput("the sender has no account on the chain yet", field="sender") from None
        raise
    base = base_account(found)
    number, sequence = str(base.get("account_number", "0")), str(base.get("sequence", "0"))
    if not (number.isdecimal() and sequence.isdecimal()):
        raise app.upstreams.lcd.transport.unreadable("account")
    return Signer(number, sequence, app.settings.identity.chain_id)


def base_account(account: dict[str, Any]) -> dict[str, Any]:
    """The innermost account: vesting and module accounts wrap it."""
    for name in ("base_vesting_account", "base_account"):
        inner = account.get(name)
        if isinstance(inner, dict):
            return base_account(inner)
    return account


def unsigned(app: App, messages: Sequence[Message], memo: str, sequence: int) -> bytes:
    """A transaction with an empty signature."""
    codec = json_codec(app.settings.identity.namespace)
    body = codec.decode("cosmos.tx.v1beta1.TxBody", msgspec.json.encode({"messages": messages, "memo": memo}))
    auth = codec.types.new(
        "cosmos.tx.v1beta1.AuthInfo",
        signer_infos=[{"mode_info": {"single": {"mode": _DIRECT}}, "sequence": sequence}],
        fee={},
    )
    raw = codec.types.new(
        "cosmos.tx.v1beta1.TxRaw",
        body_bytes=body.SerializeToString(),
        auth_info_bytes=auth.SerializeToString(),
        signatures=[b""],
    )
    return bytes(raw.SerializeToString())


async def simulated(app: App, transaction: bytes) -> int:
    """Gas that the chain used; a transaction it refuses is the caller's mistake."""
    transport = app.upstreams.lcd.transport
    answer = await transport.ask(
        "POST", "/cosmos/tx/v1beta1/simulate", body={"tx_bytes": b64encode(transaction).decode()}, again=True
    )
    if not answer.good:
        failure = transport.refused(answer, "simulation")
        assert isinstance(failure, ChainFailure)
        reason = refusal_of(failure).message
        if not reason:
            raise failure
        raise InvalidInput(f"the chain would refuse this transaction: {reason[:_LONGEST_REASON]}", field="sender")
    found = transport.decode(answer.body, _Simulated, "simulation")
    if not found.gas_info.gas_used.isdecimal():
        raise transport.unreadable("simulation")
    return int(found.gas_info.gas_used)
