"""Wire types of the reserve."""

from __future__ import annotations

from typing import ClassVar

from leasehold.protocol.messages.values import LpnCoin
from leasehold.protocol.scalars import U64, Address, TextCode
from leasehold.protocol.serde import Empty, Lax, Nothing, OneOf, Wire


class Instantiate(Wire, frozen=True):
    """A new reserve."""

    rust_name: ClassVar[str] = "InstantiateMsg"
    protocol_admin: str
    lease_code: TextCode


class Execute(OneOf, frozen=True):
    """What the reserve can be told; the variants carry bare values."""

    rust_name: ClassVar[str] = "ExecuteMsg"
    newtypes: ClassVar[frozenset[str]] = frozenset({"new_lease_code", "cover_liquidation_losses", "dump_balance_to"})
    new_lease_code: U64 | None = None
    cover_liquidation_losses: LpnCoin | None = None
    dump_balance_to: Address | None = None


class Query(OneOf, frozen=True):
    """What the reserve can be asked."""

    rust_name: ClassVar[str] = "QueryMsg"
    reserve_lpn: Nothing | None = None
    config: Nothing | None = None
    protocol_package_release: Empty | None = None


class Config(Lax, frozen=True):
    """Answer to `config`."""

    rust_name: ClassVar[str] = "ConfigResponse"
    lease_code_id: TextCode
