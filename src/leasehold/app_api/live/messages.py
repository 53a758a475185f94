"""Every message of the WebSocket; all that the public service sends, and more members than it sends.

A push says where it stands: `seq` grows within its topic and parameters and is the same in every process, `height` and
`time` are of the block it is about. `snapshot` marks pushes that answer a subscription.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from leasehold.app_api.resources.balances import BalanceInfo
from leasehold.app_api.resources.transfer import AssetRelease, TransferError, TransferLeg
from leasehold.serving.frames import text_frame

UNSET = msgspec.UNSET
Absent = msgspec.UnsetType
Progress = Literal["pending", "success", "failed"]

INVALID_MESSAGE = "INVALID_MESSAGE"
INVALID_SUBSCRIPTION = "INVALID_SUBSCRIPTION"
SUBSCRIPTION_LIMIT = "SUBSCRIPTION_LIMIT"
RATE_LIMITED = "RATE_LIMITED"


class Server(msgspec.Struct, tag_field="type", omit_defaults=True, kw_only=True):
    """A message to a client."""


class Limits(msgspec.Struct):
    """What a connection may do; times in seconds, sizes in bytes."""

    connections_per_client: int
    subscriptions: int
    addresses_per_subscription: int
    message_bytes: int
    messages_per_second: float
    messages_burst: int
    ping_seconds: float
    idle_seconds: float
    replay_seconds: int


class Welcome(Server, kw_only=True, tag="welcome"):
    """The first message: limits, and where the chain stands."""

    limits: Limits
    topics: tuple[str, ...]
    height: int


class Subscribed(Server, kw_only=True, tag="subscribed"):
    topic: str
    params: dict[str, Any]


class Unsubscribed(Server, kw_only=True, tag="unsubscribed"):
    topic: str
    params: dict[str, Any]


class Error(Server, kw_only=True, tag="error"):
    code: str
    message: str
    topic: str | Absent = UNSET


class Pong(Server, kw_only=True, tag="pong"):
    """Answer to `ping`; `id` is repeated where one was given."""

    time: str
    id: str | int | Absent = UNSET


class Snapshot(Server, kw_only=True, tag="snapshot"):
    """Ends a snapshot of `count` pushes: a client is now at `seq` and can resume from there."""

    topic: str
    key: str
    count: int
    seq: int
    height: int
    time: str


class Resumed(Server, kw_only=True, tag="resumed"):
    """Ends a replay of `count` pushes: nothing was lost up to `seq`."""

    topic: str
    key: str
    count: int
    seq: int


class ResyncRequired(Server, kw_only=True, tag="resync_required"):
    """What happened in between is not known here: subscribe again, or read the current state over HTTP."""

    topic: str
    key: str
    seq: int
    reason: str


class Lagged(Server, kw_only=True, tag="lagged"):
    """This client was too slow: `missed` prices were replaced by newer ones; missed events follow, in order."""

    topic: str
    key: str
    missed: int
    replayed: bool


class Shutdown(Server, kw_only=True, tag="shutdown"):
    """The service stops; connect again after that many milliseconds and resume."""

    reconnect_ms: int


class Push(Server, kw_only=True):
    """An update of a topic."""

    seq: int
    height: int
    time: str
    snapshot: bool = False


class PriceUpdate(Push, kw_only=True, tag="price_update"):
    """Every price by `TICKER@PROTOCOL`."""

    prices: dict[str, str]
    timestamp: str


class LeaseUpdate(Push, kw_only=True, tag="lease_update"):
    """A lease as `GET /api/leases` shows it, with null for parts that are absent there."""

    lease: msgspec.Raw
    owner: str


class EarnPositionInfo(msgspec.Struct):
    """A position under the names of the public stream (`deposited_asset` holds receipts), then under those of HTTP."""

    protocol: str
    lpp_address: str
    deposited_lpn: str
    deposited_asset: str
    rewards: str
    currency: str
    deposited_nlpn: str
    deposited_usd: str | None
    lpp_price: str
    current_apy: float


class EarnUpdate(Push, kw_only=True, tag="earn_update"):
    """Every position of a lender; one that is missing is gone."""

    address: str
    positions: list[EarnPositionInfo]
    total_deposited_usd: str


class BalanceUpdate(Push, kw_only=True, tag="balance_update"):
    """Every visible balance of an address, as `GET /api/balances` shows them."""

    chain: str
    address: str
    balances: list[BalanceInfo]
    total_value_usd: str
    timestamp: str


class SkipTxUpdate(Push, kw_only=True, tag="skip_tx_update"):
    """Where a transaction between chains stands, by the word of the swap provider."""

    tx_hash: str
    status: Progress
    steps_completed: int
    total_steps: int
    error: str | Absent = UNSET


class TxStatus(Push, kw_only=True, tag="tx_status"):
    """A transaction of our chain was included in a block."""

    tx_hash: str
    status: Progress
    error: str | Absent = UNSET


class TransferUpdate(Push, kw_only=True, tag="transfer_update"):
    """Where a followed transfer stands: named by its id or by its first transaction."""

    id: str | Absent = UNSET
    tx_hash: str | Absent = UNSET
    status: Progress
    state: str
    steps_completed: int
    total_steps: int
    transfers: list[TransferLeg]
    next_blocking_transfer: int | None = None
    transfer_asset_release: AssetRelease | None = None
    error: TransferError | str | Absent = UNSET


SERVER = (
    Welcome,
    Subscribed,
    Unsubscribed,
    Error,
    Pong,
    Snapshot,
    Resumed,
    ResyncRequired,
    Lagged,
    Shutdown,
    PriceUpdate,
    LeaseUpdate,
    EarnUpdate,
    BalanceUpdate,
    SkipTxUpdate,
    TxStatus,
    TransferUpdate,
)
_encoder = msgspec.json.Encoder()


def frame(message: Server) -> bytes:
    """A message as a finished frame."""
    return text_frame(_encoder.encode(message))
