"""The data API as the application API reads it: protocols, currencies, pools, openings, and opaque figures."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import msgspec

from leasehold.app_api.upstreams.transport import Answer, Transport

# Free JSON reaches clients with its members in alphabetical order, whatever order the data API has them in.
_alphabetical = msgspec.json.Encoder(order="sorted")


class Contracts(msgspec.Struct, frozen=True):
    """Addresses of a protocol's contracts; a protocol of another kind of chain has none."""

    leaser: str | None = None
    lpp: str | None = None
    oracle: str | None = None
    profit: str | None = None
    reserve: str | None = None


class Protocol(msgspec.Struct, frozen=True):
    """A protocol as indexed; `network` in title case, `dex` possibly in literal quotes."""

    name: str
    position_type: str
    lpn_symbol: str
    is_active: bool
    network: str | None = None
    dex: str | None = None
    contracts: Contracts = Contracts()

    @property
    def network_key(self) -> str | None:
        """Key of the network in the gated configuration."""
        return self.network.upper() if self.network is not None else None

    @property
    def bare_dex(self) -> str | None:
        return self.dex.strip('"') if self.dex is not None else None

    @property
    def is_short(self) -> bool:
        return self.position_type.lower() == "short"

    @property
    def is_long(self) -> bool:
        return self.position_type.lower() == "long"


class Mapping(msgspec.Struct, frozen=True):
    """How one protocol knows a currency."""

    protocol: str
    group: str = ""
    bank_symbol: str = ""
    dex_symbol: str = ""


class Currency(msgspec.Struct, frozen=True):
    """A currency with every protocol that knows it."""

    ticker: str
    decimal_digits: int
    is_active: bool
    protocols: tuple[Mapping, ...] = ()


class Pool(msgspec.Struct, frozen=True):
    """A pool's figures, percent and decimal texts."""

    protocol: str
    earn_apr: str | None = None
    apr: str | None = None
    utilization: str | None = None
    supplied: str | None = None
    total_supplied: str | None = None
    borrowed: str | None = None
    total_borrowed: str | None = None
    borrow_apr: str | None = None


class HistoryRow(msgspec.Struct, frozen=True):
    """Something that happened to a position after it was opened."""

    type: str = ""
    amount: str | None = None
    symbol: str | None = None
    time: str | None = None
    additional: str | None = None
    tx_hash: str | None = None
    debt_stable: str | None = None
    collateral_asset: str | None = None
    liquidation_price: str | None = None


class OpenedLease(msgspec.Struct, frozen=True):
    """The indexed opening of a position; stable amounts are scaled by the decimals of their currency."""

    LS_asset_symbol: str | None = None
    LS_timestamp: str | None = None
    LS_loan_pool_id: str | None = None
    LS_cltr_symbol: str | None = None
    LS_cltr_amnt_stable: str | None = None
    LS_loan_amnt_stable: str | None = None
    LS_opening_price: str | None = None
    history: tuple[HistoryRow, ...] | None = None


class Opening(msgspec.Struct, frozen=True):
    """What the index knows about a position."""

    lease: OpenedLease
    lpn_price: str | None = None
    fee: str | None = None
    repayment_value: str | None = None
    history: tuple[HistoryRow, ...] | None = None


class _Protocols(msgspec.Struct):
    protocols: tuple[Protocol, ...]


class _Currencies(msgspec.Struct):
    currencies: tuple[Currency, ...]


class _Pools(msgspec.Struct):
    protocols: tuple[Pool, ...]


class _ValueLocked(msgspec.Struct):
    total_value_locked: str


class DataApi:
    """Reads of the data API; failures are `ETL: …`, the name clients know it by."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    async def protocols(self) -> tuple[Protocol, ...]:
        return (await self.transport.read("/api/protocols", _Protocols, context="protocols")).protocols

    async def currencies(self) -> tuple[Currency, ...]:
        return (await self.transport.read("/api/currencies", _Currencies, context="currencies")).currencies

    async def pools(self) -> tuple[Pool, ...]:
        return (await self.transport.read("/api/pools", _Pools, context="pools")).protocols

    async def value_locked(self) -> str:
        found = await self.transport.read("/api/total-value-locked", _ValueLocked, context="TVL")
        return found.total_value_locked

    async def opening(self, lease: str) -> Opening | None:
        """The indexed opening of a position, None where the index does not know it."""
        target = f"/api/ls-opening?lease={quote(lease, safe='')}"
        # The union is spelled as Any for mypy: a type form is no type to it.
        kind: Any = Opening | None
        found: Opening | None = await self.transport.read(target, kind, context="ls-opening")
        return found

    async def raw(self, endpoint: str, query: str = "") -> Answer:
        """Answer of an endpoint as it came; 5xx and everything that is not JSON is a failure."""
        answer = await self.transport.ask("GET", f"/api/{endpoint}" + (f"?{query}" if query else ""))
        if answer.status >= 500 or 300 <= answer.status < 400:
            raise self.transport.refused(answer, endpoint)
        self.transport.decode(answer.body, msgspec.Raw, endpoint)
        return answer

    async def figure(self, endpoint: str, query: str = "") -> msgspec.Raw:
        """JSON of an endpoint that must answer 2xx."""
        answer = await self.raw(endpoint, query)
        if not answer.good:
            raise self.transport.refused(answer, endpoint)
        return msgspec.Raw(self.ordered(answer.body, endpoint))

    def ordered(self, body: bytes, endpoint: str) -> bytes:
        """JSON of an endpoint with its members in alphabetical order; numbers and lists stay as they are."""
        free: Any = Any
        return _alphabetical.encode(self.transport.decode(body, free, endpoint))
