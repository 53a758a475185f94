"""What the chain tells a contract about its interchain messages."""

from __future__ import annotations

from typing import Any, ClassVar

from leasehold.protocol.serde import Lax, OneOf


class Response(Lax, frozen=True):
    """A packet was acknowledged; `data` is base64."""

    request: Any
    data: str


class Error(Lax, frozen=True):
    """A packet was acknowledged with an error."""

    request: Any
    details: str


class Timeout(Lax, frozen=True):
    """A packet was not delivered in time."""

    request: Any


class OpenAck(Lax, frozen=True):
    """The account's channel is open; the version is JSON with the account's address."""

    port_id: str
    channel_id: str
    counterparty_channel_id: str
    counterparty_version: str


class Sudo(OneOf, frozen=True):
    """The chain's answers."""

    rust_name: ClassVar[str] = "SudoMsg"
    response: Response | None = None
    error: Error | None = None
    timeout: Timeout | None = None
    open_ack: OpenAck | None = None


class AccountVersion(Lax, frozen=True):
    """The part of a channel's version that names the account."""

    address: str = ""
