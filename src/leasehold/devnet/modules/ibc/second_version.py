"""Queries of IBC's second version: nobody uses it here, so its tables are empty."""

from __future__ import annotations

from typing import Any

from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import Status, StatusError
from leasehold.devnet.app.module import answers
from leasehold.devnet.modules.ibc.channels import Channels, checked_sequences, require_sequence
from leasehold.devnet.modules.ibc.identifiers import check_queried

CHANNEL_V2 = "ibc.core.channel.v2."
CLIENT_V2 = "ibc.core.client.v2."
_CHANNEL = CHANNEL_V2 + "Query/"
_CLIENT = CLIENT_V2 + "Query/"


class SecondVersion(Channels):
    """Answers about packets between clients without channels."""

    def _empty(self, ctx: Context, request: Any, name: str) -> Any:
        check_queried("client", request.client_id)
        _, result = self.paged([], request)
        return self.new(CHANNEL_V2 + name, pagination=self.page_response(result), height=self.own_height(ctx))

    @answers(_CHANNEL + "NextSequenceSend")
    def query_next_send_v2(self, ctx: Context, request: Any) -> Any:
        check_queried("client", request.client_id)
        raise StatusError(Status.NOT_FOUND, f"client-id {request.client_id}: sequence send not found")

    @answers(_CHANNEL + "PacketCommitment")
    def query_commitment_v2(self, ctx: Context, request: Any) -> Any:
        check_queried("client", request.client_id)
        require_sequence(request.sequence)
        raise StatusError(Status.NOT_FOUND, "packet commitment hash not found")

    @answers(_CHANNEL + "PacketCommitments")
    def query_commitments_v2(self, ctx: Context, request: Any) -> Any:
        return self._empty(ctx, request, "QueryPacketCommitmentsResponse")

    @answers(_CHANNEL + "PacketAcknowledgement")
    def query_acknowledgement_v2(self, ctx: Context, request: Any) -> Any:
        check_queried("client", request.client_id)
        require_sequence(request.sequence)
        raise StatusError(Status.NOT_FOUND, "packet acknowledgement hash not found")

    @answers(_CHANNEL + "PacketAcknowledgements")
    def query_acknowledgements_v2(self, ctx: Context, request: Any) -> Any:
        response = self._empty(ctx, request, "QueryPacketAcknowledgementsResponse")
        if request.packet_commitment_sequences:
            response.ClearField("pagination")
        return response

    @answers(_CHANNEL + "PacketReceipt")
    def query_receipt_v2(self, ctx: Context, request: Any) -> Any:
        check_queried("client", request.client_id)
        require_sequence(request.sequence)
        return self.new(CHANNEL_V2 + "QueryPacketReceiptResponse", proof_height=self.own_height(ctx))

    @answers(_CHANNEL + "UnreceivedPackets")
    def query_unreceived_packets_v2(self, ctx: Context, request: Any) -> Any:
        check_queried("client", request.client_id)
        sequences = checked_sequences(request.sequences)
        return self.new(CHANNEL_V2 + "QueryUnreceivedPacketsResponse", sequences=sequences, height=self.own_height(ctx))

    @answers(_CHANNEL + "UnreceivedAcks")
    def query_unreceived_acks_v2(self, ctx: Context, request: Any) -> Any:
        check_queried("client", request.client_id)
        for sequence in request.packet_ack_sequences:
            require_sequence(sequence)
        return self.new(CHANNEL_V2 + "QueryUnreceivedAcksResponse", height=self.own_height(ctx))

    @answers(_CLIENT + "CounterpartyInfo")
    def query_counterparty_info(self, ctx: Context, request: Any) -> Any:
        check_queried("client", request.client_id)
        raise StatusError(Status.NOT_FOUND, f"client {request.client_id} counterparty not found")

    @answers(_CLIENT + "Config")
    def query_config(self, ctx: Context, request: Any) -> Any:
        check_queried("client", request.client_id)
        response = self.new(CLIENT_V2 + "QueryConfigResponse")
        response.config.SetInParent()
        return response
