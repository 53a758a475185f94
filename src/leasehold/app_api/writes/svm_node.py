"""What the write routes ask of an SVM node."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import msgspec

from leasehold.app_api.upstreams.svm import call
from leasehold.app_api.upstreams.transport import Transport

_CONFIRMED = "confirmed"


class _Hash(msgspec.Struct):
    blockhash: str


class _Blockhash(msgspec.Struct):
    value: _Hash


class _Outcome(msgspec.Struct):
    err: Any = None


class _Simulated(msgspec.Struct):
    value: _Outcome


class _Account(msgspec.Struct):
    data: tuple[str, str]


class _AccountInfo(msgspec.Struct):
    value: _Account | None = None


async def latest_blockhash(transport: Transport) -> str:
    found: _Blockhash = await call(transport, "getLatestBlockhash", [{"commitment": _CONFIRMED}], _Blockhash)
    return found.value.blockhash


async def simulate(transport: Transport, transaction: bytes) -> None:
    """Return if the node would carry a transaction out; the node's failure otherwise."""
    options = {"commitment": _CONFIRMED, "encoding": "base64"}
    params = [b64encode(transaction).decode(), options]
    found: _Simulated = await call(transport, "simulateTransaction", params, _Simulated)
    if found.value.err is not None:
        reason = msgspec.json.encode(found.value.err).decode()[:256]
        raise transport.fail(f"simulateTransaction: the transaction would fail: {reason}")


async def account_data(transport: Transport, address: str) -> bytes | None:
    """Data of an account, None where there is no such account."""
    params = [address, {"commitment": _CONFIRMED, "encoding": "base64"}]
    found: _AccountInfo = await call(transport, "getAccountInfo", params, _AccountInfo)
    if found.value is None:
        return None
    try:
        return b64decode(found.value.data[0], validate=True)
    except ValueError as error:
        raise transport.unreadable("getAccountInfo", error) from error
