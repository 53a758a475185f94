"""An SVM node's JSON-RPC: balances and the epoch that bounds a transfer."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from leasehold.app_api.upstreams.transport import Transport
from leasehold.chain.svm.addresses import address_bytes
from leasehold.core.addresses import InvalidAddress
from leasehold.core.errors import NotReady

T = TypeVar("T")
_CONFIRMED = "confirmed"


class _Answer(msgspec.Struct, Generic[T]):
    result: T | None = None
    error: dict[str, Any] | None = None


class _Lamports(msgspec.Struct):
    value: int


class _TokenAmount(msgspec.Struct):
    amount: str


class _Info(msgspec.Struct):
    tokenAmount: _TokenAmount  # noqa: N815 - the wire's spelling


class _Parsed(msgspec.Struct):
    info: _Info


class _Data(msgspec.Struct):
    parsed: _Parsed


class _Account(msgspec.Struct):
    data: _Data


class _Held(msgspec.Struct):
    account: _Account


class _TokenAccounts(msgspec.Struct):
    value: list[_Held]


class EpochInfo(msgspec.Struct):
    """Where the SVM chain stands."""

    absoluteSlot: int  # noqa: N815 - the wire's spelling
    epoch: int


def unconfigured() -> NotReady:
    """What is said about SVM routes without an SVM node."""
    return NotReady("Solana RPC not configured (set app_api.svm_url)")


class SvmNode:
    """Reads of an SVM node."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    async def lamports(self, address: str) -> int:
        """Native balance of an account."""
        found: _Lamports = await self._call("getBalance", [address, {"commitment": _CONFIRMED}], _Lamports)
        return found.value

    async def tokens(self, address: str, mint: str) -> int | None:
        """Sum of an owner's accounts of a mint, None where it has none."""
        params = [address, {"mint": mint}, {"commitment": _CONFIRMED, "encoding": "jsonParsed"}]
        found: _TokenAccounts = await self._call("getTokenAccountsByOwner", params, _TokenAccounts)
        if not found.value:
            return None
        try:
            return sum(int(one.account.data.parsed.info.tokenAmount.amount) for one in found.value)
        except ValueError as error:
            raise self.transport.unreadable("token accounts", error) from error

    async def epoch(self) -> EpochInfo:
        found: EpochInfo = await self._call("getEpochInfo", [{"commitment": _CONFIRMED}], EpochInfo)
        return found

    async def _call(self, method: str, params: list[Any], kind: Any) -> Any:
        return await call(self.transport, method, params, kind)


async def call(transport: Transport, method: str, params: list[Any], kind: Any) -> Any:
    """The result of a method; every one asked here changes nothing, so a busy node is asked again."""
    body = {"id": 1, "jsonrpc": "2.0", "method": method, "params": params}
    answer = await transport.ask("POST", "", body=body, again=True)
    if not answer.good:
        raise transport.fail(f"{method}: {transport.refused(answer).message.partition(': ')[2]}")
    try:
        found = msgspec.json.decode(answer.body, type=_Answer[kind])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise transport.fail(f"{method}: failed to parse response: error decoding response body") from error
    if found.result is None:
        raise transport.fail(f"{method}: refused")
    return found.result


def is_svm_address(text: str) -> bool:
    """Whether a text is base58 of exactly 32 bytes."""
    try:
        address_bytes(text)
    except InvalidAddress:
        return False
    return True
