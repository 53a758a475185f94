"""Clients, connections and channels: those of the genesis document and those to the simulated chains."""

from __future__ import annotations

from typing import Any

from leasehold.devnet.app.context import Context
from leasehold.devnet.app.module import Module
from leasehold.devnet.modules.ibc.identifiers import revision
from leasehold.devnet.state.store import prefix_end

CLIENT_V1 = "ibc.core.client.v1."
CONNECTION_V1 = "ibc.core.connection.v1."
CHANNEL_V1 = "ibc.core.channel.v1."
TENDERMINT = "ibc.lightclients.tendermint.v1."
LOCALHOST_CONNECTION = "connection-localhost"
LOCALHOST_CLIENT = "09-localhost"

_CLIENT_PARAMS = b"ibc/client_params"
_CONNECTION_PARAMS = b"ibc/connection_params"
_CLIENT = b"ibc/cl/"
_CONNECTION = b"ibc/cn/"
_CHANNEL = b"ibc/ch/"
_OPEN, _UNORDERED = 3, 1


class Tables(Module):
    """What this chain is connected to."""

    name = "ibc"

    def init_genesis(self, ctx: Context, state: dict[str, Any]) -> None:
        clients = state.get("client_genesis", {})
        connections = state.get("connection_genesis", {})
        channels = state.get("channel_genesis", {})
        params = self.from_json(CLIENT_V1 + "Params", clients.get("params", {"allowed_clients": ["*"]}))
        ctx.store.set(_CLIENT_PARAMS, params.SerializeToString())
        document = connections.get("params", {"max_expected_time_per_block": "30000000000"})
        params = self.from_json(CONNECTION_V1 + "Params", document)
        ctx.store.set(_CONNECTION_PARAMS, params.SerializeToString())
        for entry in clients.get("clients", []):
            client = self.from_json(CLIENT_V1 + "IdentifiedClientState", entry)
            self.save_client(ctx, client.client_id, client.client_state)
        for entry in connections.get("connections", []):
            self.save_connection(ctx, self.from_json(CONNECTION_V1 + "IdentifiedConnection", entry))
        for entry in channels.get("channels", []):
            self.save_channel(ctx, self.from_json(CHANNEL_V1 + "IdentifiedChannel", entry))

    def client_params(self, ctx: Context) -> Any:
        return self.read(ctx, _CLIENT_PARAMS, CLIENT_V1 + "Params")

    def connection_params(self, ctx: Context) -> Any:
        return self.read(ctx, _CONNECTION_PARAMS, CONNECTION_V1 + "Params")

    def set_client_params(self, ctx: Context, params: Any) -> None:
        ctx.store.set(_CLIENT_PARAMS, params.SerializeToString())

    def set_connection_params(self, ctx: Context, params: Any) -> None:
        ctx.store.set(_CONNECTION_PARAMS, params.SerializeToString())

    def save_client(self, ctx: Context, client_id: str, state: Any) -> None:
        client = self.new(CLIENT_V1 + "IdentifiedClientState", client_id=client_id, client_state=state)
        ctx.store.set(_CLIENT + client_id.encode(), client.SerializeToString())

    def save_connection(self, ctx: Context, connection: Any) -> None:
        ctx.store.set(_CONNECTION + connection.id.encode(), connection.SerializeToString())

    def save_channel(self, ctx: Context, channel: Any) -> None:
        key = f"{channel.port_id}/{channel.channel_id}".encode()
        ctx.store.set(_CHANNEL + key, channel.SerializeToString())

    def own_height(self, ctx: Context) -> Any:
        """This chain's height as IBC writes it."""
        return self.new(
            CLIENT_V1 + "Height",
            revision_number=revision(ctx.block.chain_id),
            revision_height=ctx.block.height,
        )

    def _stored(self, ctx: Context, prefix: bytes, name: str) -> list[Any]:
        kind: Any = self.registry.type(name)
        return [kind.FromString(data) for _, data in ctx.store.iterate(prefix, prefix_end(prefix))]

    def _networks(self, ctx: Context) -> list[Any]:
        return list(self.modules.interchain.networks(ctx).networks)

    def clients(self, ctx: Context) -> list[Any]:
        """Light clients by id."""
        found = self._stored(ctx, _CLIENT, CLIENT_V1 + "IdentifiedClientState")
        found += [self._simulated_client(ctx, number, network) for number, network in enumerate(self._networks(ctx))]
        return sorted(found, key=lambda client: str(client.client_id))

    def _simulated_client(self, ctx: Context, number: int, network: Any) -> Any:
        state = self.new(TENDERMINT + "ClientState", chain_id=f"{network.name.lower()}-1")
        state.trust_level.numerator, state.trust_level.denominator = 1, 3
        state.trusting_period.seconds = 14 * 86_400
        state.unbonding_period.seconds = 21 * 86_400
        state.max_clock_drift.seconds = 20
        state.frozen_height.SetInParent()
        state.latest_height.revision_number = 1
        state.latest_height.revision_height = ctx.block.height
        state.upgrade_path.extend(["upgrade", "upgradedIBCState"])
        return self.new(
            CLIENT_V1 + "IdentifiedClientState",
            client_id=f"07-tendermint-{number}",
            client_state=self.registry.pack(state),
        )

    def connections(self, ctx: Context) -> list[Any]:
        """Connections by id, the one to itself included."""
        found = self._stored(ctx, _CONNECTION, CONNECTION_V1 + "IdentifiedConnection")
        for number, network in enumerate(self._networks(ctx)):
            found.append(self._connection(network.connection, f"07-tendermint-{number}", network.connection, None))
        found.append(self._connection(LOCALHOST_CONNECTION, LOCALHOST_CLIENT, LOCALHOST_CONNECTION, LOCALHOST_CLIENT))
        return sorted(found, key=lambda connection: str(connection.id))

    def _connection(self, own: str, client: str, other: str, other_client: str | None) -> Any:
        connection = self.new(CONNECTION_V1 + "IdentifiedConnection", id=own, client_id=client, state=_OPEN)
        connection.versions.add(identifier="1", features=["ORDER_ORDERED", "ORDER_UNORDERED"])
        connection.counterparty.client_id = other_client or client
        connection.counterparty.connection_id = other
        connection.counterparty.prefix.key_prefix = b"ibc"
        return connection

    def channels(self, ctx: Context) -> list[Any]:
        """Channels by port and id."""
        found = self._stored(ctx, _CHANNEL, CHANNEL_V1 + "IdentifiedChannel")
        for network in self._networks(ctx):
            channel = self.new(
                CHANNEL_V1 + "IdentifiedChannel",
                state=_OPEN,
                ordering=_UNORDERED,
                connection_hops=[network.connection],
                version="ics20-1",
                port_id="transfer",
                channel_id=network.channel,
            )
            channel.counterparty.port_id = "transfer"
            channel.counterparty.channel_id = network.remote_channel
            found.append(channel)
        return sorted(found, key=lambda channel: f"{channel.port_id}/{channel.channel_id}")

    def channel(self, ctx: Context, port: str, channel_id: str) -> Any:
        """A channel, or None."""
        known = self.channels(ctx)
        return next((c for c in known if c.port_id == port and c.channel_id == channel_id), None)

    def connection(self, ctx: Context, connection_id: str) -> Any:
        """A connection, or None."""
        return next((c for c in self.connections(ctx) if c.id == connection_id), None)

    def client(self, ctx: Context, client_id: str) -> Any:
        """A light client, or None."""
        return next((c for c in self.clients(ctx) if c.client_id == client_id), None)
