"""The IBC core module: queries of clients and connections."""

from __future__ import annotations

from typing import Any

from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import Status, StatusError
from leasehold.devnet.app.module import answers
from leasehold.devnet.modules.ibc.identifiers import check_queried
from leasehold.devnet.modules.ibc.packets_v2 import PacketsV2
from leasehold.devnet.modules.ibc.tables import CLIENT_V1, CONNECTION_V1, LOCALHOST_CLIENT

_CLIENT = CLIENT_V1 + "Query/"
_CONNECTION = CONNECTION_V1 + "Query/"
_NAMED = "connection-id: {}"


class Ibc(PacketsV2):
    """Reads of IBC core."""

    # Connections.

    @answers(_CONNECTION + "Connections")
    def query_connections(self, ctx: Context, request: Any) -> Any:
        items, result = self.paged([(c.id, c) for c in self.connections(ctx)], request)
        return self.new(
            CONNECTION_V1 + "QueryConnectionsResponse",
            connections=items,
            pagination=self.page_response(result),
            height=self.own_height(ctx),
        )

    def _known_connection(self, ctx: Context, connection_id: str, form: str = "{}") -> Any:
        """A connection; `form` is how its absence is told."""
        check_queried("connection", connection_id)
        found = self.connection(ctx, connection_id)
        if found is None:
            raise StatusError(Status.NOT_FOUND, f"{form.format(connection_id)}: connection not found")
        return found

    @answers(_CONNECTION + "Connection")
    def query_connection(self, ctx: Context, request: Any) -> Any:
        found = self._known_connection(ctx, request.connection_id)
        end = self.new(
            CONNECTION_V1 + "ConnectionEnd",
            client_id=found.client_id,
            versions=found.versions,
            state=found.state,
            counterparty=found.counterparty,
            delay_period=found.delay_period,
        )
        return self.new(CONNECTION_V1 + "QueryConnectionResponse", connection=end, proof_height=self.own_height(ctx))

    @answers(_CONNECTION + "ClientConnections")
    def query_client_connections(self, ctx: Context, request: Any) -> Any:
        check_queried("client", request.client_id)
        # The chain's connection to itself is not listed under its client.
        paths = [
            c.id for c in self.connections(ctx) if c.client_id == request.client_id and c.client_id != LOCALHOST_CLIENT
        ]
        if not paths:
            raise StatusError(Status.NOT_FOUND, f"{request.client_id}: light client connection paths not found")
        return self.new(
            CONNECTION_V1 + "QueryClientConnectionsResponse",
            connection_paths=paths,
            proof_height=self.own_height(ctx),
        )

    @answers(_CONNECTION + "ConnectionClientState")
    def query_connection_client(self, ctx: Context, request: Any) -> Any:
        connection = self._known_connection(ctx, request.connection_id, _NAMED)
        client = self.client(ctx, connection.client_id)
        if client is None:
            raise StatusError(Status.NOT_FOUND, f"client-id: {connection.client_id}: light client not found")
        return self.new(
            CONNECTION_V1 + "QueryConnectionClientStateResponse",
            identified_client_state=client,
            proof_height=self.own_height(ctx),
        )

    @answers(_CONNECTION + "ConnectionConsensusState")
    def query_connection_consensus(self, ctx: Context, request: Any) -> Any:
        connection = self._known_connection(ctx, request.connection_id, _NAMED)
        raise StatusError(Status.NOT_FOUND, f"client-id: {connection.client_id}: consensus state not found")

    @answers(_CONNECTION + "ConnectionParams")
    def query_connection_params(self, ctx: Context, request: Any) -> Any:
        params = self.connection_params(ctx)
        return self.new(CONNECTION_V1 + "QueryConnectionParamsResponse", params=params)

    # Clients.

    @answers(_CLIENT + "ClientStates")
    def query_clients(self, ctx: Context, request: Any) -> Any:
        items, result = self.paged([(c.client_id, c) for c in self.clients(ctx)], request)
        return self.new(
            CLIENT_V1 + "QueryClientStatesResponse", client_states=items, pagination=self.page_response(result)
        )

    @answers(_CLIENT + "ClientState")
    def query_client(self, ctx: Context, request: Any) -> Any:
        check_queried("client", request.client_id)
        found = self.client(ctx, request.client_id)
        if found is None:
            raise StatusError(Status.NOT_FOUND, f"{request.client_id}: light client not found")
        return self.new(
            CLIENT_V1 + "QueryClientStateResponse",
            client_state=found.client_state,
            proof_height=self.own_height(ctx),
        )

    @answers(_CLIENT + "ClientStatus")
    def query_client_status(self, ctx: Context, request: Any) -> Any:
        check_queried("client", request.client_id)
        status = self.client_status(ctx, request.client_id)
        return self.new(CLIENT_V1 + "QueryClientStatusResponse", status=status)

    @answers(_CLIENT + "VerifyMembership")
    def verify_membership(self, ctx: Context, request: Any) -> Any:
        """Whether a proof holds; the clients here are simulated and keep no roots, so none ever does."""
        check_queried("client", request.client_id)
        for missing, what in (
            (not request.proof, "empty proof"),
            (not request.proof_height.revision_height, "proof height must be non-zero"),
            (not request.merkle_path.key_path, "empty merkle path"),
            (not request.value, "empty value"),
        ):
            if missing:
                raise StatusError(Status.INVALID_ARGUMENT, what)
        if self.client(ctx, request.client_id) is None:
            raise StatusError(Status.NOT_FOUND, f"{request.client_id}: light client not found")
        return self.new(CLIENT_V1 + "QueryVerifyMembershipResponse", success=False)

    @answers(_CLIENT + "ClientParams")
    def query_client_params(self, ctx: Context, request: Any) -> Any:
        return self.new(CLIENT_V1 + "QueryClientParamsResponse", params=self.client_params(ctx))

    @answers(_CLIENT + "ClientCreator")
    def query_client_creator(self, ctx: Context, request: Any) -> Any:
        check_queried("client", request.client_id)
        return self.new(CLIENT_V1 + "QueryClientCreatorResponse", creator=self.client_creator(ctx, request.client_id))

    @answers(_CLIENT + "ConsensusStates")
    def query_consensus_states(self, ctx: Context, request: Any) -> Any:
        check_queried("client", request.client_id)
        empty = self.page_response(self.paged([], request)[1])
        return self.new(CLIENT_V1 + "QueryConsensusStatesResponse", pagination=empty)

    @answers(_CLIENT + "ConsensusStateHeights")
    def query_consensus_heights(self, ctx: Context, request: Any) -> Any:
        check_queried("client", request.client_id)
        empty = self.page_response(self.paged([], request)[1])
        return self.new(CLIENT_V1 + "QueryConsensusStateHeightsResponse", pagination=empty)

    @answers(_CLIENT + "ConsensusState")
    def query_consensus_state(self, ctx: Context, request: Any) -> Any:
        check_queried("client", request.client_id)
        if not request.latest_height and request.revision_height == 0:
            raise StatusError(Status.INVALID_ARGUMENT, "consensus state height cannot be 0")
        text = f"client-id: {request.client_id}, height: {request.revision_number}-{request.revision_height}"
        raise StatusError(Status.NOT_FOUND, f"{text}: consensus state not found")

    @answers(_CLIENT + "UpgradedClientState")
    def query_upgraded_client(self, ctx: Context, request: Any) -> Any:
        raise StatusError(Status.NOT_FOUND, "upgrade plan not found")

    @answers(_CLIENT + "UpgradedConsensusState")
    def query_upgraded_consensus(self, ctx: Context, request: Any) -> Any:
        raise StatusError(Status.NOT_FOUND, f"upgraded consensus state not found, height {ctx.block.height}")
