"""Queries of IBC channels and the packets on them."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import PlainError, Status, StatusError
from leasehold.devnet.app.module import answers
from leasehold.devnet.app.pagination import Page, page_of
from leasehold.devnet.modules.ibc.identifiers import check_queried
from leasehold.devnet.modules.ibc.tables import CHANNEL_V1, Tables

_QUERY = CHANNEL_V1 + "Query/"
_DASHES = "port-id: {port}, channel-id {channel}"
_PARENTHESES = "port ID ({port}) channel ID ({channel})"


class Channels(Tables):
    """Answers about channels."""

    def paged(self, items: list[tuple[str, Any]], request: Any) -> tuple[list[Any], Page]:
        try:
            return page_of(((key.encode(), item) for key, item in items), request.pagination)
        except PlainError as error:
            raise StatusError(Status.UNKNOWN, str(error)) from None

    def _checked(self, request: Any) -> None:
        check_queried("port", request.port_id)
        check_queried("channel", request.channel_id)

    def _known(self, ctx: Context, request: Any, form: str) -> Any:
        """The channel a request names; `form` is how its absence is told."""
        self._checked(request)
        channel = self.channel(ctx, request.port_id, request.channel_id)
        if channel is None:
            raise StatusError(
                Status.NOT_FOUND, form.format(port=request.port_id, channel=request.channel_id) + ": channel not found"
            )
        return channel

    def _listed(self, ctx: Context, request: Any, name: str, connection: str = "") -> Any:
        chosen = [
            (f"{channel.port_id}/channels/{channel.channel_id}", channel)
            for channel in self.channels(ctx)
            if not connection or channel.connection_hops[0] == connection
        ]
        items, result = self.paged(chosen, request)
        return self.new(
            CHANNEL_V1 + name, channels=items, pagination=self.page_response(result), height=self.own_height(ctx)
        )

    @answers(_QUERY + "Channels")
    def query_channels(self, ctx: Context, request: Any) -> Any:
        return self._listed(ctx, request, "QueryChannelsResponse")

    @answers(_QUERY + "ConnectionChannels")
    def query_connection_channels(self, ctx: Context, request: Any) -> Any:
        check_queried("connection", request.connection)
        return self._listed(ctx, request, "QueryConnectionChannelsResponse", request.connection)

    @answers(_QUERY + "Channel")
    def query_channel(self, ctx: Context, request: Any) -> Any:
        found = self._known(ctx, request, _DASHES)
        channel = self.new(
            CHANNEL_V1 + "Channel",
            state=found.state,
            ordering=found.ordering,
            counterparty=found.counterparty,
            connection_hops=found.connection_hops,
            version=found.version,
        )
        return self.new(CHANNEL_V1 + "QueryChannelResponse", channel=channel, proof_height=self.own_height(ctx))

    @answers(_QUERY + "ChannelClientState")
    def query_channel_client(self, ctx: Context, request: Any) -> Any:
        channel = self._known(ctx, request, "port-id: {port}, channel-id: {channel}")
        connection = self.connection(ctx, channel.connection_hops[0])
        client = self.client(ctx, connection.client_id) if connection is not None else None
        return self.new(
            CHANNEL_V1 + "QueryChannelClientStateResponse",
            identified_client_state=client,
            proof_height=self.own_height(ctx),
        )

    def _waiting(self, ctx: Context, port: str, channel: str) -> list[Any]:
        pending = self.modules.interchain.pending(ctx)
        return [packet for packet in pending if packet.port == port and packet.channel == channel]

    @answers(_QUERY + "PacketCommitments")
    def query_commitments(self, ctx: Context, request: Any) -> Any:
        self._known(ctx, request, _PARENTHESES)
        states = [
            (f"{packet.sequence:020d}", self._commitment(request, packet))
            for packet in self._waiting(ctx, request.port_id, request.channel_id)
        ]
        items, result = self.paged(states, request)
        return self.new(
            CHANNEL_V1 + "QueryPacketCommitmentsResponse",
            commitments=items,
            pagination=self.page_response(result),
            height=self.own_height(ctx),
        )

    def _commitment(self, request: Any, packet: Any) -> Any:
        return self.new(
            CHANNEL_V1 + "PacketState",
            port_id=request.port_id,
            channel_id=request.channel_id,
            sequence=packet.sequence,
            data=_digest(packet),
        )

    @answers(_QUERY + "PacketCommitment")
    def query_commitment(self, ctx: Context, request: Any) -> Any:
        self._checked(request)
        require_sequence(request.sequence)
        self._known(ctx, request, _PARENTHESES)
        waiting = self._waiting(ctx, request.port_id, request.channel_id)
        found = next((packet for packet in waiting if packet.sequence == request.sequence), None)
        if found is None:
            raise StatusError(Status.NOT_FOUND, "packet commitment hash not found")
        return self.new(
            CHANNEL_V1 + "QueryPacketCommitmentResponse",
            commitment=_digest(found),
            proof_height=self.own_height(ctx),
        )

    @answers(_QUERY + "PacketAcknowledgements")
    def query_acknowledgements(self, ctx: Context, request: Any) -> Any:
        self._known(ctx, request, _PARENTHESES)
        response = self.new(CHANNEL_V1 + "QueryPacketAcknowledgementsResponse", height=self.own_height(ctx))
        if not request.packet_commitment_sequences:
            # Those that are named come without a page.
            response.pagination.CopyFrom(self.page_response(self.paged([], request)[1]))
        return response

    @answers(_QUERY + "PacketAcknowledgement")
    def query_acknowledgement(self, ctx: Context, request: Any) -> Any:
        self._checked(request)
        require_sequence(request.sequence)
        self._known(ctx, request, _PARENTHESES)
        raise StatusError(Status.NOT_FOUND, "packet acknowledgement hash not found")

    @answers(_QUERY + "PacketReceipt")
    def query_receipt(self, ctx: Context, request: Any) -> Any:
        self._checked(request)
        require_sequence(request.sequence)
        self._known(ctx, request, _PARENTHESES)
        return self.new(CHANNEL_V1 + "QueryPacketReceiptResponse", proof_height=self.own_height(ctx))

    @answers(_QUERY + "UnreceivedPackets")
    def query_unreceived_packets(self, ctx: Context, request: Any) -> Any:
        self._known(ctx, request, _DASHES)
        sequences = checked_sequences(request.packet_commitment_sequences)
        return self.new(CHANNEL_V1 + "QueryUnreceivedPacketsResponse", sequences=sequences, height=self.own_height(ctx))

    @answers(_QUERY + "UnreceivedAcks")
    def query_unreceived_acks(self, ctx: Context, request: Any) -> Any:
        self._known(ctx, request, _PARENTHESES)
        waiting = {packet.sequence for packet in self._waiting(ctx, request.port_id, request.channel_id)}
        sequences = [number for number in checked_sequences(request.packet_ack_sequences) if number in waiting]
        return self.new(CHANNEL_V1 + "QueryUnreceivedAcksResponse", sequences=sequences, height=self.own_height(ctx))

    @answers(_QUERY + "ChannelConsensusState")
    def query_channel_consensus(self, ctx: Context, request: Any) -> Any:
        channel = self._known(ctx, request, _DASHES)
        connection = self.connection(ctx, channel.connection_hops[0])
        if connection is None:
            text = f"connection-id: {channel.connection_hops[0]}: connection not found"
        else:
            text = f"client-id: {connection.client_id}: consensus state not found"
        raise StatusError(Status.NOT_FOUND, text)

    @answers(_QUERY + "NextSequenceReceive")
    def query_next_receive(self, ctx: Context, request: Any) -> Any:
        self._known(ctx, request, _DASHES)
        return self.new(CHANNEL_V1 + "QueryNextSequenceReceiveResponse", proof_height=self.own_height(ctx))

    @answers(_QUERY + "NextSequenceSend")
    def query_next_send(self, ctx: Context, request: Any) -> Any:
        self._checked(request)
        if self.channel(ctx, request.port_id, request.channel_id) is None:
            where = f"port-id: {request.port_id}, channel-id {request.channel_id}"
            raise StatusError(Status.NOT_FOUND, f"{where}: sequence send not found")
        return self.new(
            CHANNEL_V1 + "QueryNextSequenceSendResponse",
            next_sequence_send=self.modules.interchain.next_sequence(ctx),
            proof_height=self.own_height(ctx),
        )


def _digest(packet: Any) -> bytes:
    return sha256(repr((packet.sequence, packet.body, packet.timeout_ns)).encode()).digest()


def require_sequence(sequence: int) -> None:
    if sequence == 0:
        raise StatusError(Status.INVALID_ARGUMENT, "packet sequence cannot be 0")


def checked_sequences(sequences: Any) -> list[int]:
    for index, sequence in enumerate(sequences):
        if sequence == 0:
            raise StatusError(Status.INVALID_ARGUMENT, f"packet sequence {index} cannot be 0")
    return list(sequences)
