"""counterparty: the other chains, simulated: packets on their way, accounts on the DEX and what they hold.

A contract's or a user's interchain message becomes a packet here. A relayer account delivers its outcome in ordinary
IBC messages, so that blocks, searches and indexers see every step in a transaction. Coins sent out are burnt (or
escrowed, if native) here and credited there; coins coming back are minted (or released).
"""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec

from leasehold.core.addresses import encode, module_address
from leasehold.devnet.app.coins import Coin
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import UNAUTHORIZED
from leasehold.devnet.app.module import handles
from leasehold.devnet.modules.counterparty.ledger import ARRIVAL, PACKET
from leasehold.devnet.modules.counterparty.networks import (
    INVALID_PACKET,
    UNKNOWN_CHANNEL,
    UNKNOWN_PACKET,
    Arrival,
    Network,
    Packet,
)
from leasehold.devnet.modules.counterparty.sending import Sending
from leasehold.devnet.modules.packet_events import received_attributes
from leasehold.devnet.wasm.interchain import swapped
from leasehold.protocol.swap_order import MalformedOrder, SwapOrder, order_in

_SUCCESS = 2
# What the other chain answers to a transfer that does nothing else.
_PLAIN = b"\x01"


class _Paid(msgspec.Struct, frozen=True):
    """What a swap yielded, base units as text."""

    amount: str
    affiliate: str


class _Filled(msgspec.Struct, frozen=True):
    swap: _Paid


_filled = msgspec.json.Decoder(_Filled)


class Counterparty(Sending):
    """Packets to and from the simulated chains: what a relayer delivers."""

    def _packet(self, ctx: Context, signer: str, sequence: int) -> Packet:
        self._require_relayer(ctx, signer)
        stored = ctx.store.get(PACKET + sequence.to_bytes(8, "big"))
        if stored is None:
            raise UNKNOWN_PACKET(f"sequence {sequence}")
        ctx.store.delete(PACKET + sequence.to_bytes(8, "big"))
        return msgspec.json.decode(stored, type=Packet)

    def _require_relayer(self, ctx: Context, signer: str) -> None:
        if signer != self.networks(ctx).relayer:
            raise UNAUTHORIZED("only the relayer of the simulated chains may deliver packets")

    @handles("ibc.core.channel.v1.MsgChannelOpenAck")
    def handle_open_ack(self, ctx: Context, msg: Any) -> Any:
        self._require_relayer(ctx, msg.signer)
        found = next((p for p in self.pending(ctx) if p.kind == "open" and p.port == msg.port_id), None)
        if found is None:
            raise UNKNOWN_CHANNEL(f"port {msg.port_id}")
        ctx.store.delete(PACKET + found.sequence.to_bytes(8, "big"))
        ctx.emit(
            "channel_open_ack",
            ("port_id", msg.port_id),
            ("channel_id", msg.channel_id),
            ("counterparty_channel_id", msg.counterparty_channel_id),
        )
        opened = {
            "port_id": msg.port_id,
            "channel_id": msg.channel_id,
            "counterparty_channel_id": msg.counterparty_channel_id,
            "counterparty_version": msg.counterparty_version,
        }
        self.notify(ctx, found.sender, {"open_ack": opened})
        return self.new("ibc.core.channel.v1.MsgChannelOpenAckResponse")

    @handles("ibc.core.channel.v1.MsgAcknowledgement")
    def handle_acknowledgement(self, ctx: Context, msg: Any) -> Any:
        packet = self._packet(ctx, msg.signer, msg.packet.sequence)
        ctx.emit("acknowledge_packet", *received_attributes(msg.packet, msg.acknowledgement))
        try:
            outcome = json.loads(msg.acknowledgement)
        except ValueError:
            raise INVALID_PACKET("the acknowledgement is not JSON") from None
        if "error" in outcome:
            self._failed(ctx, packet, {"error": {"request": _request(msg.packet), "details": outcome["error"]}})
        else:
            data = base64.b64decode(outcome["result"])
            self._succeeded(ctx, packet, data)
            answer = {"request": _request(msg.packet), "data": base64.b64encode(data).decode()}
            self.notify(ctx, packet.sender, {"response": answer})
        return self.new("ibc.core.channel.v1.MsgAcknowledgementResponse", result=_SUCCESS)

    @handles("ibc.core.channel.v1.MsgTimeout")
    def handle_timeout(self, ctx: Context, msg: Any) -> Any:
        packet = self._packet(ctx, msg.signer, msg.packet.sequence)
        ctx.emit("timeout_packet", *received_attributes(msg.packet))
        self._failed(ctx, packet, {"timeout": {"request": _request(msg.packet)}})
        return self.new("ibc.core.channel.v1.MsgTimeoutResponse", result=_SUCCESS)

    def _succeeded(self, ctx: Context, packet: Packet, data: bytes) -> None:
        network = self.network(ctx, packet.network)
        if packet.kind == "transfer":
            order = _order(packet, data)
            if order is not None:
                self._swapped(ctx, network, packet, order, data)
                return
            remote = network.denoms[packet.body["denom"]]
            self.hold(ctx, packet.body["receiver"], remote, int(packet.body["amount"]))
            return
        amounts = iter(swapped(data))
        for message in packet.body["msgs"]:
            ((kind, fields),) = message.items()
            spent = fields["token_in"] if kind == "swap" else fields["token"]
            self.hold(ctx, fields["sender"], spent["denom"], -int(spent["amount"]))
            if kind == "swap":
                self.hold(ctx, fields["sender"], fields["routes"][-1]["token_out"], next(amounts))
            else:
                self.depart(ctx, network, fields)

    def _swapped(self, ctx: Context, network: Network, packet: Packet, order: SwapOrder, data: bytes) -> None:
        """Give out what a swap ordered by a transfer yielded: to an account there, or on its way home."""
        try:
            filled = _filled.decode(data).swap
        except msgspec.MsgspecError:
            raise INVALID_PACKET("the acknowledgement does not say what the swap yielded") from None
        affiliate = int(filled.affiliate)
        if affiliate:
            keeper = order.affiliate or encode(network.prefix, module_address("fee collector"))
            self.hold(ctx, keeper, order.denom_out, affiliate)
        returned = 0
        if order.receiver.startswith(f"{self.identity.prefix}1"):
            token = {"denom": order.denom_out, "amount": filled.amount}
            fields = {"sender": packet.body["receiver"], "receiver": order.receiver, "token": token}
            returned = self.depart(ctx, network, fields)
        else:
            self.hold(ctx, order.receiver, order.denom_out, int(filled.amount))
        ctx.emit(
            "swap_settled",
            ("packet_sequence", str(packet.sequence)),
            ("packet_src_channel", packet.channel),
            ("receiver", order.receiver),
            ("denom", order.denom_out),
            ("amount", filled.amount),
            ("return_sequence", str(returned) if returned else ""),
        )

    def _failed(self, ctx: Context, packet: Packet, notice: dict[str, Any]) -> None:
        if packet.kind == "transfer":
            token = Coin(packet.body["denom"], int(packet.body["amount"]))
            self.pay_out(ctx, packet.channel, packet.sender, token)
        self.notify(ctx, packet.sender, notice)

    @handles("ibc.core.channel.v1.MsgRecvPacket")
    def handle_receive(self, ctx: Context, msg: Any) -> Any:
        self._require_relayer(ctx, msg.signer)
        key = ARRIVAL + msg.packet.sequence.to_bytes(8, "big")
        stored = ctx.store.get(key)
        if stored is None:
            return self.new("ibc.core.channel.v1.MsgRecvPacketResponse", result=1)
        ctx.store.delete(key)
        arrival = msgspec.json.decode(stored, type=Arrival)
        network = self.network(ctx, arrival.network)
        token = Coin(network.here(arrival.remote_denom), arrival.amount)
        ctx.emit("recv_packet", *received_attributes(msg.packet))
        self.pay_out(ctx, network.channel, arrival.receiver, token)
        ctx.emit(
            "fungible_token_packet",
            ("sender", arrival.sender),
            ("receiver", arrival.receiver),
            ("denom", arrival.remote_denom),
            ("amount", str(arrival.amount)),
            ("memo", ""),
            ("success", "true"),
        )
        ctx.emit("write_acknowledgement", *received_attributes(msg.packet, b'{"result":"AQ=="}'))
        return self.new("ibc.core.channel.v1.MsgRecvPacketResponse", result=_SUCCESS)

    def deposit(self, ctx: Context, network: str, receiver: str, remote_denom: str, amount: int) -> None:
        """Put coins of another chain on their way to an account here, as a faucet does."""
        there = self.network(ctx, network)
        there.here(remote_denom)
        sender = encode(there.prefix, module_address("faucet"))
        token = {"denom": remote_denom, "amount": str(amount)}
        self.depart(ctx, there, {"sender": sender, "receiver": receiver, "token": token})


def _order(packet: Packet, data: bytes) -> SwapOrder | None:
    """The swap a transfer ordered, if the other chain carried it out."""
    try:
        return order_in(packet.body["memo"]) if data != _PLAIN else None
    except MalformedOrder:
        return None


def _request(packet: Any) -> dict[str, Any]:
    """The packet as a sudo message shows it."""
    return {
        "sequence": packet.sequence,
        "source_port": packet.source_port,
        "source_channel": packet.source_channel,
        "destination_port": packet.destination_port,
        "destination_channel": packet.destination_channel,
        "data": base64.b64encode(packet.data).decode(),
        "timeout_height": {
            "revision_number": packet.timeout_height.revision_number,
            "revision_height": packet.timeout_height.revision_height,
        },
        "timeout_timestamp": packet.timeout_timestamp,
    }
