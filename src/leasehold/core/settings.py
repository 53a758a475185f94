"""Every setting of Leasehold, with its default, meaning and whether it is secret.

A setting is named `section.name`: in a profile (TOML) it stands as `name` under `[section]`, in the environment as
`LEASEHOLD_SECTION_NAME`, on the command line as `--set section.name=value`. `leasehold.core.configuration` loads
them; once loaded they are frozen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


def setting(default: Any, about: str, *, secret: bool = False) -> Any:
    """A field of a section with its documentation."""
    return field(default=default, metadata={"about": about, "secret": secret})


@dataclass(frozen=True, slots=True)
class Identity:
    """What makes a chain this chain."""

    prefix: str = setting("chain", "bech32 prefix of account addresses")
    base_denom: str = setting("ulsh", "bank denom of the native token")
    display: str = setting("LSH", "ticker and display name of the native token")
    exponent: int = setting(6, "decimals of the native token")
    chain_id: str = setting("leasehold-1", "chain id; for a real chain, the node's")
    namespace: str = setting("leasehold", "namespace of the chain's own modules in proto packages and REST paths")
    network: str = setting("LEASEHOLD", "key of the home network in the application API")


@dataclass(frozen=True, slots=True)
class Listen:
    """Where the services listen."""

    host: str = setting("127.0.0.1", "address all services bind to")
    port_offset: int = setting(0, "added to every port")
    rpc: int = setting(26657, "CometBFT RPC and WebSocket port of the devnet")
    lcd: int = setting(1317, "LCD (REST) port of the devnet")
    grpc: int = setting(9090, "gRPC port of the devnet")
    control: int = setting(26659, "devnet control port; always loopback")
    app_api: int = setting(8080, "application API, its WebSocket and the web application")
    data_api: int = setting(8081, "data API")
    supply_api: int = setting(8082, "supply API")
    upstreams: int = setting(8083, "swap, referral, payments and svm stand-in services")
    indexer: int = setting(8084, "health and metrics of the indexer")


@dataclass(frozen=True, slots=True)
class ChainNodes:
    """The chain the services talk to."""

    rpc_urls: tuple[str, ...] = setting((), "RPC base URLs, first is preferred; empty: the devnet of this stack")
    lcd_url: str = setting("", "LCD base URL; empty: the devnet of this stack")
    grpc_url: str = setting("", "gRPC host:port; empty: the devnet of this stack")
    archive_rpc_url: str = setting("", "RPC base URL of an archive node, asked for pruned heights")
    admin_contract: str = setting("", "address of the platform admin contract; empty: found on the devnet")


@dataclass(frozen=True, slots=True)
class Database:
    """PostgreSQL."""

    url: str = setting("", "PostgreSQL URL (also DATABASE_URL); empty: the embedded server of this home", secret=True)
    primary_url: str = setting("", "URL for the few writes of the APIs when `url` is a standby", secret=True)
    pool_size: int = setting(8, "connections per service process")
    statement_timeout_ms: int = setting(15_000, "longest a single statement may run")


@dataclass(frozen=True, slots=True)
class Devnet:
    """The embedded development chain."""

    seed: int = setting(1, "seed of keys, market and actors")
    block_interval_ms: int = setting(1000, "time between blocks; 0 seals only on demand")
    seal: str = setting("interval", "when to seal: interval, transactions or demand")
    history_days: int = setting(90, "days of market simulated before a fresh chain goes live; 0 for none")
    pruning_window: int = setting(0, "heights kept on the public endpoints; 0 keeps all")
    market: bool = setting(True, "run the price feeders, keepers and actors")
    grpc_certificate: str = setting("", "PEM file with certificate chain for gRPC over TLS")
    grpc_key: str = setting("", "PEM file with the private key for gRPC over TLS")
    minimum_gas_price: str = setting("0.0025", "least price of a unit of gas in the base denom")


@dataclass(frozen=True, slots=True)
class Index:
    """The indexer."""

    batch_blocks: int = setting(200, "most blocks written in one transaction")
    start_height: int = setting(
        0, "first height of a fresh index; what was there before is read from the chain; 0: all"
    )
    prefetch: int = setting(8, "batches fetched ahead while catching up")
    stall_seconds: int = setting(30, "silence of the node after which the connection is renewed")
    retention_days: int = setting(0, "days raw data is kept; 0 keeps all")
    ready_lag_blocks: int = setting(10, "lag above which /ready is false")


@dataclass(frozen=True, slots=True)
class Limits:
    """Rate and size limits of the HTTP services."""

    reads_per_second: float = setting(20.0, "sustained reads per client")
    reads_burst: int = setting(50, "burst of reads per client")
    writes_per_second: float = setting(2.0, "sustained writes per client")
    writes_burst: int = setting(5, "burst of writes per client")
    exempt: tuple[str, ...] = setting((), "client networks (CIDR) that are never limited")
    trusted_proxies: tuple[str, ...] = setting((), "networks whose forwarded headers are believed")
    body_bytes: int = setting(2 * 1024 * 1024, "largest request body")
    header_bytes: int = setting(32 * 1024, "largest request head")
    request_seconds: float = setting(30.0, "longest a request may take to arrive or be handled")


@dataclass(frozen=True, slots=True)
class AppApi:
    """The application API."""

    data_api_url: str = setting("", "base URL of the data API; empty: the one of this stack")
    swap_url: str = setting("", "base URL of the swap-routing provider; empty: the one of this stack")
    swap_api_key: str = setting("", "API key of the swap-routing provider", secret=True)
    referral_url: str = setting("", "base URL of the referral service; empty: the one of this stack")
    referral_token: str = setting("", "token of the referral service", secret=True)
    payments_url: str = setting("", "base URL of the payments manager; empty: the one of this stack")
    payments_token: str = setting("", "token of the payments manager", secret=True)
    svm_url: str = setting("", "base URL of the svm RPC; empty: the one of this stack")
    messaging_secret: str = setting("", "HS256 secret of messaging tokens", secret=True)
    messaging_dashboard: str = setting("", "URL of an operator's view of a wallet, {address} in it; empty: none")
    admin_keys: tuple[str, ...] = setting((), "hashed admin API keys; none turns the admin routes off", secret=True)
    translation_url: str = setting("", "base URL of a chat-completions service for machine translation; empty: none")
    translation_key: str = setting("", "API key of the translation service", secret=True)
    translation_model: str = setting("", "model that translates")
    dispatcher_contract: str = setting("", "address of the reward dispatcher; empty: the platform's treasury")
    gated_folder: str = setting("", "folder of gated configuration for an empty database; empty: the devnet's")
    gas_multiplier: str = setting("3.5", "factor clients apply to simulated gas")
    cors_origins: tuple[str, ...] = setting(("*",), "origins allowed to call the API and to open its WebSocket")
    websocket_connections: int = setting(20_000, "most WebSocket connections per process")
    websocket_per_client: int = setting(100, "most WebSocket connections per client address")


@dataclass(frozen=True, slots=True)
class DataApi:
    """The data API."""

    vapid_private_key: str = setting(
        "", "VAPID key (PEM or base64url) for Web Push; empty: one kept in the database", secret=True
    )
    vapid_subject: str = setting("mailto:operator@localhost", "contact in Web Push messages")
    admin_keys: tuple[str, ...] = setting((), "SHA-256 of admin keys in hex; none turns test pushes off", secret=True)
    ready_lag_seconds: int = setting(60, "age of the newest indexed block above which /ready is false")


@dataclass(frozen=True, slots=True)
class SupplyApi:
    """The supply API."""

    max_supply: int = setting(1_000_000_000, "constant maximum supply in whole tokens")
    reserve_accounts: tuple[str, ...] = setting((), "vesting accounts not in circulation; empty: all vesting accounts")
    refresh_seconds: int = setting(3000, "age at which a figure is refreshed")


@dataclass(frozen=True, slots=True)
class Upstreams:
    """The referral, payments, swap and svm services of this stack."""

    payer_mnemonic: str = setting("", "account that pays rewards and refunds; empty: an operator pays", secret=True)
    svm_program_id: str = setting(
        "6ScfYhZfJ6iVXmPZTz39fMWen9YfqFi7yGXCqQyQRu5x", "program that takes sends on the svm chain"
    )


@dataclass(frozen=True, slots=True)
class Logs:
    """Logging."""

    level: str = setting("info", "debug, info, warning or error")
    form: str = setting("auto", "json, plain or auto (plain on a terminal)")


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a process."""

    identity: Identity = field(default_factory=Identity)
    listen: Listen = field(default_factory=Listen)
    chain: ChainNodes = field(default_factory=ChainNodes)
    database: Database = field(default_factory=Database)
    devnet: Devnet = field(default_factory=Devnet)
    index: Index = field(default_factory=Index)
    limits: Limits = field(default_factory=Limits)
    app_api: AppApi = field(default_factory=AppApi)
    data_api: DataApi = field(default_factory=DataApi)
    supply_api: SupplyApi = field(default_factory=SupplyApi)
    upstreams: Upstreams = field(default_factory=Upstreams)
    logs: Logs = field(default_factory=Logs)

    def port(self, service: str) -> int:
        """Port of a service with the offset applied."""
        base: int = getattr(self.listen, service)
        return base + self.listen.port_offset

    def url(self, service: str) -> str:
        """Base URL under which the other services of this stack reach a service."""
        return f"http://{self.listen.host}:{self.port(service)}"
