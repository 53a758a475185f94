"""Solana reads: balances of an SVM account and the bounds of a transfer."""

from __future__ import annotations

import asyncio

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.resources.currencies import CurrencyInfo
from leasehold.app_api.upstreams.svm import is_svm_address, unconfigured
from leasehold.core.errors import InvalidInput
from leasehold.serving.routes import PlainRequest, Registry, Request

MAX_LIFETIME_SLOTS = 172_800
_NATIVE_DIGITS = 9
_PROTOCOLS = "SOLANA"


class SolanaBalanceInfo(msgspec.Struct):
    """A balance in base units; the native one has neither key nor mint."""

    key: str | None
    symbol: str
    mint: str | None
    amount: str
    decimal_digits: int


class SolanaBalancesResponse(msgspec.Struct):
    address: str
    sol: SolanaBalanceInfo
    tokens: list[SolanaBalanceInfo]


class SolanaTransferParamsResponse(msgspec.Struct):
    """The slot now, the epoch as revision, and the latest slot a transfer may wait for."""

    slot: int
    revision_number: int
    max_lifetime_slots: int
    max_timeout_height: int


class SvmParams(msgspec.Struct, frozen=True):
    address: str


def declare(api: Registry, app: App) -> None:
    """The read routes of solana."""

    @api.get(
        "/api/solana/balances/{address}",
        operation_id="get_solana_balances",
        summary="Balances",
        tags=("solana",),
        errors=(400, 502, 503),
    )
    async def balances(request: Request[SvmParams, None]) -> SolanaBalancesResponse:
        address = request.params.address
        if not is_svm_address(address):
            raise InvalidInput("Invalid address format", field="address")
        node = app.upstreams.svm
        if not node.transport.configured:
            raise unconfigured()
        lamports = await node.lamports(address)
        # What comes from our own chain has a denom there and no mint that the index would know.
        minted = [
            info
            for info in app.cells.currencies.value.by_key.values()
            if info.protocol.upper().startswith(_PROTOCOLS) and is_svm_address(info.dex_symbol)
        ]
        mints = list(dict.fromkeys(info.dex_symbol for info in minted))
        found = await asyncio.gather(*(node.tokens(address, mint) for mint in mints))
        held = dict(zip(mints, found, strict=True))
        return SolanaBalancesResponse(
            address,
            SolanaBalanceInfo(None, "SOL", None, str(lamports), _NATIVE_DIGITS),
            [_token(info, amount) for info in minted if (amount := held[info.dex_symbol]) is not None],
        )

    @api.get(
        "/api/solana/transfer-params",
        operation_id="get_solana_transfer_params",
        summary="Bounds of a transfer",
        tags=("solana",),
        errors=(502, 503),
    )
    async def transfer_params(request: PlainRequest) -> SolanaTransferParamsResponse:
        epoch = await app.upstreams.svm.epoch()
        return SolanaTransferParamsResponse(
            epoch.absoluteSlot, epoch.epoch, MAX_LIFETIME_SLOTS, epoch.absoluteSlot + MAX_LIFETIME_SLOTS
        )


def _token(info: CurrencyInfo, amount: int) -> SolanaBalanceInfo:
    return SolanaBalanceInfo(info.key, info.symbol, info.dex_symbol, str(amount), info.decimal_digits)
