"""Wire types of the platform's registry."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from leasehold.protocol.messages.values import ProtocolMigrations
from leasehold.protocol.scalars import Address, TextCode
from leasehold.protocol.serde import Empty, OneOf, Wire


class Astroport(Wire, frozen=True):
    """A DEX behind a router contract."""

    router_address: str


class Dex(OneOf, frozen=True):
    """`"Osmosis"`, `"Raydium"`, or Astroport with its router; a refusal speaks only of this generation's."""

    units: ClassVar[tuple[str, ...]] = ("Osmosis", "Raydium")
    order: ClassVar[tuple[str, ...]] = ("Astroport", "Osmosis")
    Astroport: Astroport | None = None


# The third one came with a later generation: it is taken, but a refusal does not speak of it.
Network = Annotated[Literal["Neutron", "Osmosis", "Solana"], Meta(extra={"told": ("Neutron", "Osmosis")})]


class ProtocolContracts(Wire, frozen=True):
    """Addresses of a protocol's contracts."""

    leaser: Address
    lpp: Address
    oracle: Address
    profit: Address
    reserve: Address


class Protocol(Wire, frozen=True):
    """A sub-protocol, and the answer to `protocol`."""

    network: Network
    dex: Literal["Osmosis", "Raydium"] | Dex
    contracts: ProtocolContracts


class Platform(Wire, frozen=True):
    """Addresses of the platform's contracts, and the answer to `platform`."""

    rust_name: ClassVar[str] = "PlatformContracts"
    timealarms: Address
    treasury: Address


class Contracts(Wire, frozen=True):
    """Everything registered."""

    rust_name: ClassVar[str] = "ContractsTemplate"
    platform: Platform
    protocol: dict[str, Protocol]


class Instantiate(Wire, frozen=True):
    """A new registry."""

    rust_name: ClassVar[str] = "InstantiateMsg"
    dex_admin: Address
    contracts: Contracts


class InstantiateContract(Wire, frozen=True):
    """A contract to create for a protocol at a foreseeable address."""

    code_id: TextCode
    expected_address: Address
    protocol: str
    label: str
    message: str


class RegisterProtocol(Wire, frozen=True):
    """A protocol under a new name."""

    name: str
    protocol: Protocol


class Execute(OneOf, frozen=True):
    """What the registry can be told."""

    rust_name: ClassVar[str] = "ExecuteMsg"
    newtypes: ClassVar[frozenset[str]] = frozenset({"deregister_protocol"})
    instantiate: InstantiateContract | None = None
    register_protocol: RegisterProtocol | None = None
    deregister_protocol: ProtocolMigrations | None = None


class ChangeDexAdmin(Wire, frozen=True):
    """Another administrator."""

    new_dex_admin: Address


class MigrateContracts(Wire, frozen=True):
    """Migrations of registered contracts."""

    to_release: str
    migration_spec: Any


class ExecuteContracts(Wire, frozen=True):
    """Messages to registered contracts."""

    rust_name: ClassVar[str] = "ContractsTemplate"
    platform: Any
    protocol: Any


class Sudo(OneOf, frozen=True):
    """What governance can tell the registry."""

    rust_name: ClassVar[str] = "SudoMsg"
    newtypes: ClassVar[frozenset[str]] = frozenset({"migrate_contracts", "execute_contracts"})
    change_dex_admin: ChangeDexAdmin | None = None
    register_protocol: RegisterProtocol | None = None
    migrate_contracts: MigrateContracts | None = None
    execute_contracts: ExecuteContracts | None = None


class InstantiateAddress(Wire, frozen=True):
    """Which contract's address to foretell."""

    code_id: TextCode
    protocol: str


class Query(OneOf, frozen=True):
    """What the registry can be asked."""

    rust_name: ClassVar[str] = "QueryMsg"
    newtypes: ClassVar[frozenset[str]] = frozenset({"protocol"})
    instantiate_address: InstantiateAddress | None = None
    protocols: Empty | None = None
    platform: Empty | None = None
    protocol: str | None = None
    platform_package_release: Empty | None = None
