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

from leasehold.core.addresses import decode, encode, escrow_address, module_address
from leasehold.core.errors import InvalidInput
from leasehold.devnet.app.coins import Coin
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import UNAUTHORIZED, ChainError, Kind
from leasehold.devnet.app.module import Module, handles
from leasehold.devnet.modules.packet_events import received_attributes, sent_attributes
from leasehold.devnet.modules.wasm.host import context_around
from leasehold.devnet.state.store import prefix_end
from leasehold.devnet.wasm.contract import Interchain
from leasehold.devnet.wasm.failures import ModuleFailure
from leasehold.devnet.wasm.host import Call
from leasehold.devnet.wasm.interchain import swapped
from leasehold.protocol.swap_order import MalformedOrder, SwapOrder, order_in

_SEQUENCE = b"counterparty/sequence"
_PACKET = b"counterparty/packet/"
_ARRIVAL = b"counterparty/arrival/"
_HELD = b"counterparty/held/"
_FAILURE = b"counterparty/failure/"
_NETWORKS = b"counterparty/networks"

UNKNOWN_PACKET = Kind("channel", 20, "packet commitment not found")
INVALID_PACKET = Kind("channel", 13, "invalid packet")
UNKNOWN_CHANNEL = Kind("channel", 3, "channel not found")
_SUCCESS = 2
# What the other chain answers to a transfer that does nothing else.
_PLAIN = b"\x01"


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


class _Paid(msgspec.Struct, frozen=True):
    """What a swap yielded, base units as text."""

    amount: str
    affiliate: str


class _Filled(msgspec.Struct, frozen=True):
    swap: _Paid


_filled = msgspec.json.Decoder(_Filled)


class Counterparty(Module):
    """Packets to and from the simulated chains."""

    name = "counterparty"

    def init_genesis(self, ctx: Context, state: dict[str, Any]) -> None:
        document = {"relayer": state.get("relayer", ""), "networks": state.get("networks", [])}
        ctx.store.set(_NETWORKS, json.dumps(document).encode())

    def networks(self, ctx: Context) -> Networks:
        return msgspec.json.decode(ctx.store.get(_NETWORKS) or b'{"relayer":"","networks":[]}', type=Networks)

    def network(self, ctx: Context, name: str) -> Network:
        return next(network for network in self.networks(ctx).networks if network.name == name)

    # What contracts and users send.

    def dispatch(self, call: Call, contract: str, message: Interchain) -> bytes | None:
        """Take a contract's message; the outcome comes later as a sudo call."""
        ctx = context_around(call.store)
        fields = message.fields
        try:
            if message.kind == "ibc_transfer":
                token = Coin(fields["token"]["denom"], int(fields["token"]["amount"]))
                timeout = int(fields["timeout_timestamp"])
                self.send(ctx, contract, token, fields["source_channel"], fields["receiver"], timeout, fields["memo"])
            else:
                self._account_message(ctx, call, contract, message)
        except ChainError as error:
            raise ModuleFailure(error.kind.codespace, error.kind.code, error.log) from None
        call.events.extend(ctx.events)
        return b""

    def _account_message(self, ctx: Context, call: Call, contract: str, message: Interchain) -> None:
        fields = message.fields
        network = self.networks(ctx).on_connection(fields["connection_id"])
        kind = "open" if message.kind == "register_ica" else "tx"
        port = f"icacontroller-{contract}.{fields['interchain_account_id']}"
        timeout = call.block.time_ns + int(fields.get("timeout", 0)) * 10**9
        packet = self._queue(ctx, kind, contract, network, port, network.channel, fields, timeout)
        if kind == "open":
            ctx.emit("channel_open_init", ("port_id", port), ("connection_id", network.connection))
        else:
            data = json.dumps(fields, separators=(",", ":")).encode()
            ctx.emit("send_packet", *sent_attributes(packet, data, network.connection))

    def send(
        self, ctx: Context, sender: str, token: Coin, channel: str, receiver: str, timeout_ns: int, memo: str
    ) -> int:
        """Send a coin to an account of another chain; returns the packet's sequence."""
        network = self.networks(ctx).on_channel(channel)
        owner = decode(sender)[1]
        bank = self.modules.bank
        if token.denom == self.identity.base_denom:
            bank.send(ctx, owner, escrow_address("transfer", channel), (token,))
        else:
            bank.send(ctx, owner, self.modules.auth.module_account(ctx, "transfer"), (token,))
            bank.burn(ctx, "transfer", (token,))
        body = {
            "denom": token.denom,
            "amount": str(token.amount),
            "sender": sender,
            "receiver": receiver,
            "memo": memo,
        }
        packet = self._queue(ctx, "transfer", sender, network, "transfer", channel, body, timeout_ns)
        data = json.dumps(body, separators=(",", ":")).encode()
        ctx.emit("send_packet", *sent_attributes(packet, data, network.connection))
        ctx.emit("message", ("module", "ibc_channel"))
        ctx.emit(
            "ibc_transfer",
            ("sender", sender),
            ("receiver", receiver),
            ("denom", token.denom),
            ("amount", str(token.amount)),
            ("memo", memo),
        )
        ctx.emit("message", ("module", "transfer"))
        return packet.sequence

    def _queue(
        self,
        ctx: Context,
        kind: str,
        sender: str,
        network: Network,
        port: str,
        channel: str,
        body: dict[str, Any],
        timeout_ns: int,
    ) -> Packet:
        sequence = self._next(ctx)
        packet = Packet(sequence, kind, sender, network.name, port, channel, body, timeout_ns)
        ctx.store.set(_PACKET + sequence.to_bytes(8, "big"), msgspec.json.encode(packet))
        return packet

    def next_sequence(self, ctx: Context) -> int:
        """Sequence the next packet will have."""
        return int(ctx.store.get(_SEQUENCE) or b"0") + 1

    def _next(self, ctx: Context) -> int:
        sequence = self.next_sequence(ctx)
        ctx.store.set(_SEQUENCE, str(sequence).encode())
        return sequence

    # What a relayer looks at.

    def pending(self, ctx: Context) -> list[Packet]:
        """Packets without an outcome, oldest first."""
        pairs = ctx.store.iterate(_PACKET, prefix_end(_PACKET))
        return [msgspec.json.decode(value, type=Packet) for _, value in pairs]

    def arrivals(self, ctx: Context) -> list[Arrival]:
        """Coins that left a DEX account and are not here yet, oldest first."""
        pairs = ctx.store.iterate(_ARRIVAL, prefix_end(_ARRIVAL))
        return [msgspec.json.decode(value, type=Arrival) for _, value in pairs]

    def is_waiting(self, ctx: Context) -> bool:
        """Whether a packet has no outcome yet or coins are on their way here."""
        return any(next(ctx.store.iterate(prefix, prefix_end(prefix)), None) for prefix in (_PACKET, _ARRIVAL))

    def account(self, network: Network, contract: str) -> str:
        """The account a contract has on another chain."""
        return encode(network.prefix, module_address(f"interchain account of {contract}"))

    def held(self, ctx: Context, account: str, denom: str) -> int:
        """What an account of a simulated chain holds of one of that chain's denoms."""
        return int(ctx.store.get(_HELD + f"{account}/{denom}".encode()) or b"0")

    def _hold(self, ctx: Context, account: str, denom: str, delta: int) -> None:
        key = _HELD + f"{account}/{denom}".encode()
        amount = self.held(ctx, account, denom) + delta
        if amount < 0:
            raise INVALID_PACKET(f"{account} holds less than {-delta}{denom}")
        if amount:
            ctx.store.set(key, str(amount).encode())
        else:
            ctx.store.delete(key)

    # What a relayer delivers.

    def _packet(self, ctx: Context, signer: str, sequence: int) -> Packet:
        self._require_relayer(ctx, signer)
        stored = ctx.store.get(_PACKET + sequence.to_bytes(8, "big"))
        if stored is None:
            raise UNKNOWN_PACKET(f"sequence {sequence}")
        ctx.store.delete(_PACKET + sequence.to_bytes(8, "big"))
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
        ctx.store.delete(_PACKET + found.sequence.to_bytes(8, "big"))
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
        self._notify(ctx, found.sender, {"open_ack": opened})
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
            self._notify(ctx, packet.sender, {"response": answer})
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
            self._hold(ctx, packet.body["receiver"], remote, int(packet.body["amount"]))
            return
        amounts = iter(swapped(data))
        for message in packet.body["msgs"]:
            ((kind, fields),) = message.items()
            spent = fields["token_in"] if kind == "swap" else fields["token"]
            self._hold(ctx, fields["sender"], spent["denom"], -int(spent["amount"]))
            if kind == "swap":
                self._hold(ctx, fields["sender"], fields["routes"][-1]["token_out"], next(amounts))
            else:
                self._depart(ctx, network, fields)

    def _swapped(self, ctx: Context, network: Network, packet: Packet, order: SwapOrder, data: bytes) -> None:
        """Give out what a swap ordered by a transfer yielded: to an account there, or on its way home."""
        try:
            filled = _filled.decode(data).swap
        except msgspec.MsgspecError:
            raise INVALID_PACKET("the acknowledgement does not say what the swap yielded") from None
        affiliate = int(filled.affiliate)
        if affiliate:
            keeper = order.affiliate or encode(network.prefix, module_address("fee collector"))
            self._hold(ctx, keeper, order.denom_out, affiliate)
        returned = 0
        if order.receiver.startswith(f"{self.identity.prefix}1"):
            token = {"denom": order.denom_out, "amount": filled.amount}
            fields = {"sender": packet.body["receiver"], "receiver": order.receiver, "token": token}
            returned = self._depart(ctx, network, fields)
        else:
            self._hold(ctx, order.receiver, order.denom_out, int(filled.amount))
        ctx.emit(
            "swap_settled",
            ("packet_sequence", str(packet.sequence)),
            ("packet_src_channel", packet.channel),
            ("receiver", order.receiver),
            ("denom", order.denom_out),
            ("amount", filled.amount),
            ("return_sequence", str(returned) if returned else ""),
        )

    def _depart(self, ctx: Context, network: Network, fields: dict[str, Any]) -> int:
        """Put coins on their way home; returns the sequence they will arrive under."""
        sequence = self._next(ctx)
        token = fields["token"]
        arrival = Arrival(
            sequence, network.name, fields["sender"], fields["receiver"], token["denom"], int(token["amount"])
        )
        ctx.store.set(_ARRIVAL + sequence.to_bytes(8, "big"), msgspec.json.encode(arrival))
        return sequence

    def _failed(self, ctx: Context, packet: Packet, notice: dict[str, Any]) -> None:
        if packet.kind == "transfer":
            token = Coin(packet.body["denom"], int(packet.body["amount"]))
            self._pay_out(ctx, packet.channel, packet.sender, token)
        self._notify(ctx, packet.sender, notice)

    def _pay_out(self, ctx: Context, channel: str, receiver: str, token: Coin) -> None:
        to = decode(receiver)[1]
        if token.denom == self.identity.base_denom:
            self.modules.bank.send(ctx, escrow_address("transfer", channel), to, (token,))
            return
        self.modules.bank.mint(ctx, "transfer", (token,))
        self.modules.bank.send(ctx, module_address("transfer"), to, (token,))

    @handles("ibc.core.channel.v1.MsgRecvPacket")
    def handle_receive(self, ctx: Context, msg: Any) -> Any:
        self._require_relayer(ctx, msg.signer)
        key = _ARRIVAL + msg.packet.sequence.to_bytes(8, "big")
        stored = ctx.store.get(key)
        if stored is None:
            return self.new("ibc.core.channel.v1.MsgRecvPacketResponse", result=1)
        ctx.store.delete(key)
        arrival = msgspec.json.decode(stored, type=Arrival)
        network = self.network(ctx, arrival.network)
        token = Coin(network.here(arrival.remote_denom), arrival.amount)
        ctx.emit("recv_packet", *received_attributes(msg.packet))
        self._pay_out(ctx, network.channel, arrival.receiver, token)
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
        self._depart(ctx, there, {"sender": sender, "receiver": receiver, "token": token})

    def _notify(self, ctx: Context, contract: str, message: dict[str, Any]) -> None:
        """Tell the sending contract; its refusal is recorded and changes nothing else."""
        if len(decode(contract)[1]) != 32:
            return
        payload = json.dumps(message, separators=(",", ":")).encode()
        inner = ctx.fork()
        try:
            self.modules.wasm.sudo(inner, contract, payload)
        except ChainError as error:
            self._record_failure(ctx, contract, payload, error)
            return
        ctx.join(inner)

    def _record_failure(self, ctx: Context, contract: str, payload: bytes, error: ChainError) -> None:
        prefix = _FAILURE + contract.encode() + b"/"
        number = sum(1 for _ in ctx.store.iterate(prefix, prefix_end(prefix)))
        failure = self.new(
            "{ns}.contractmanager.Failure",
            address=contract,
            id=number,
            sudo_payload=payload,
            error=f"codespace: {error.kind.codespace}, code: {error.kind.code}",
        )
        ctx.store.set(prefix + number.to_bytes(8, "big"), failure.SerializeToString())

    def failures(self, ctx: Context, contract: str = "") -> list[Any]:
        """Callbacks contracts refused, by contract and number."""
        prefix = _FAILURE + (contract.encode() + b"/" if contract else b"")
        kind = self.registry.type(f"{self.identity.namespace}.contractmanager.Failure")
        return [kind.FromString(value) for _, value in ctx.store.iterate(prefix, prefix_end(prefix))]


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
