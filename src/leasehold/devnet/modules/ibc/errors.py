"""Refusals of IBC core, by the part that refuses."""

from __future__ import annotations

from leasehold.devnet.app.errors import Kind

INVALID_SEQUENCE = Kind("ibc", 1, "invalid sequence")
UNAUTHORIZED = Kind("ibc", 2, "unauthorized")
INVALID_ADDRESS = Kind("ibc", 5, "invalid address")
INVALID_REQUEST = Kind("ibc", 8, "invalid request")
INVALID_HEIGHT = Kind("ibc", 9, "invalid height")
INVALID_VERSION = Kind("ibc", 10, "invalid version")
UNPACK_ANY = Kind("ibc", 14, "failed unpacking protobuf message from Any")
NOT_FOUND = Kind("ibc", 16, "not found")

NO_CONSENSUS_STATE = Kind("client", 7, "consensus state not found")
INVALID_CLIENT_TYPE = Kind("client", 10, "invalid client type")
INVALID_RECOVERY = Kind("client", 24, "invalid recovery client")
INVALID_UPGRADE = Kind("client", 25, "invalid client upgrade")
INVALID_SUBSTITUTE = Kind("client", 27, "invalid client state substitute")
CLIENT_NOT_ACTIVE = Kind("client", 29, "client state is not active")

NO_CONNECTION = Kind("connection", 3, "connection not found")
WRONG_CONNECTION_STATE = Kind("connection", 6, "invalid connection state")
WRONG_COUNTERPARTY_CONNECTION = Kind("connection", 7, "invalid counterparty connection")
WRONG_CONNECTION_VERSION = Kind("connection", 9, "invalid connection version")
WRONG_CONNECTION_ID = Kind("connection", 11, "invalid connection identifier")

NO_CHANNEL = Kind("channel", 3, "channel not found")
WRONG_CHANNEL_STATE = Kind("channel", 5, "invalid channel state")
WRONG_ORDERING = Kind("channel", 6, "invalid channel ordering")
WRONG_COUNTERPARTY_CHANNEL = Kind("channel", 7, "invalid counterparty channel")
TOO_MANY_HOPS = Kind("channel", 15, "too many connection hops")
WRONG_CHANNEL_ID = Kind("channel", 18, "invalid channel identifier")

INVALID_PROOF = Kind("commitment", 2, "invalid proof")
NO_ROUTE = Kind("port", 5, "route not found")
WRONG_TRANSFER_VERSION = Kind("transfer", 4, "invalid ICS20 version")
