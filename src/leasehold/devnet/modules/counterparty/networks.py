"""The simulated chains: how we are connected to them, and what is on its way between us."""

from __future__ import annotations

from typing import Any

import msgspec

from leasehold.core.errors import InvalidInput
from leasehold.devnet.app.errors import Kind

UNKNOWN_PACKET = Kind("channel", 20, "packet commitment not found")
INVALID_PACKET = Kind("channel", 13, "invalid packet")
UNKNOWN_CHANNEL = Kind("channel", 3, "channel not found")


class Network(msgspec.Struct, frozen=True):
    """A simulated chain with a DEX: how we are connected and which denom here is which there."""

    name: str
    prefix: str
    connection: str
    channel: str
    remote_channel: str
    denoms: dict[str, str]  # here -> there

    def here(self, remote: str) -> str:
        """Denom on this chain of a denom on that one."""
        found = next((own for own, other in self.denoms.items() if other == remote), None)
        if found is None:
            raise InvalidInput(f"{remote} of {self.name} is not known here", field="denom")
        return found


class Networks(msgspec.Struct, frozen=True):
    """All simulated chains and who relays between them and us."""

    relayer: str
    networks: tuple[Network, ...]

    def on_connection(self, connection: str) -> Network:
        return self._one("connection", connection)

    def on_channel(self, channel: str) -> Network:
        return self._one("channel", channel)

    def _one(self, member: str, value: str) -> Network:
        found = next((network for network in self.networks if getattr(network, member) == value), None)
        if found is None:
            raise UNKNOWN_CHANNEL(f"{member} {value}")
        return found


class Packet(msgspec.Struct, frozen=True):
    """A message on its way: kind `open`, `tx` or `transfer`, and what it carries."""

    sequence: int
    kind: str
    sender: str
    network: str
    port: str
    channel: str
    body: dict[str, Any]
    timeout_ns: int


class Arrival(msgspec.Struct, frozen=True):
    """Coins on their way home."""

    sequence: int
    network: str
    sender: str
    receiver: str
    remote_denom: str
    amount: int
