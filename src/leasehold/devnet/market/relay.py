"""The relayer and the DEX behind it: every packet gets its outcome in a transaction of the relayer's account."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from leasehold.core.addresses import ibc_denom
from leasehold.devnet.app.context import Context
from leasehold.devnet.genesis.networks import NETWORKS, NetworkSpec
from leasehold.devnet.market.hands import Hand
from leasehold.devnet.market.prices import PriceModel
from leasehold.devnet.market.swaps import SwapDesk
from leasehold.devnet.modules.counterparty import Arrival, Counterparty, Packet
from leasehold.devnet.wasm.interchain import swap_response

SWAP_FEE = Fraction(3, 1000)
_RESULT_OK = base64.b64encode(b"\x01").decode()


@dataclass(frozen=True, slots=True)
class Fault:
    """An outcome forced upon the next packet of a kind: `error` or `timeout`."""

    kind: str
    outcome: str


class Dex:
    """Prices and decimals of every network's denoms, and what a swap yields."""

    def __init__(self, model: PriceModel, native_ticker: str, native_decimals: int, base_denom: str) -> None:
        self._model = model
        self._assets: dict[str, tuple[str, int]] = {}
        for network in NETWORKS:
            self._add(network, native_ticker, native_decimals, base_denom)

    def _add(self, network: NetworkSpec, native: str, decimals: int, base_denom: str) -> None:
        for asset in network.assets:
            self._assets[network.there(asset)] = (asset.ticker, asset.decimals)
        voucher = ibc_denom(f"transfer/{network.remote_channel}/{base_denom}")
        self._assets[voucher] = (native, decimals)

    def output(self, amount: int, denom_in: str, denom_out: str) -> int:
        """What selling an amount yields after the fee, rounded down."""
        ticker_in, decimals_in = self._assets[denom_in]
        ticker_out, decimals_out = self._assets[denom_out]
        rate = Fraction(self._model.usd(ticker_in)) / Fraction(self._model.usd(ticker_out))
        value = amount * rate * Fraction(10) ** (decimals_out - decimals_in) * (1 - SWAP_FEE)
        return int(value)


class Relayer:
    """Turns pending packets into messages that deliver their outcome."""

    def __init__(self, hand: Hand, counterparty: Counterparty, dex: Dex, swaps: SwapDesk | None = None) -> None:
        self._hand = hand
        self._counterparty = counterparty
        self._dex = dex
        self._swaps = swaps
        self.faults: list[Fault] = []

    def has_work(self, ctx: Context) -> bool:
        """Whether anything waits to be delivered."""
        return self._counterparty.is_waiting(ctx)

    def messages(self, ctx: Context, *, limit: int = 24) -> list[Any]:
        """Deliveries for what is pending in this state, oldest first."""
        arrivals = [self._receive(ctx, arrival) for arrival in self._counterparty.arrivals(ctx)]
        packets = [self._outcome(ctx, packet) for packet in self._counterparty.pending(ctx)]
        return (arrivals + packets)[:limit]

    def _outcome(self, ctx: Context, packet: Packet) -> Any:
        if packet.kind == "open":
            return self._open_ack(ctx, packet)
        fault = next((fault for fault in self.faults if fault.kind == packet.kind), None)
        if fault is not None:
            self.faults.remove(fault)
            if fault.outcome == "timeout":
                return self._hand.message(
                    "ibc.core.channel.v1.MsgTimeout",
                    packet=self._packet(ctx, packet),
                    signer=self._hand.address,
                    next_sequence_recv=packet.sequence,
                )
            return self._acknowledge(ctx, packet, {"error": "ABCI code: 1: error handling packet"})
        if packet.kind == "transfer":
            return self._acknowledge(ctx, packet, self._received(ctx, packet))
        return self._acknowledge(ctx, packet, self._executed(packet))

    def _received(self, ctx: Context, packet: Packet) -> dict[str, str]:
        """What the remote chain answers to coins that arrive there."""
        network = self._counterparty.network(ctx, packet.network)
        if packet.body["denom"] not in network.denoms:
            return {"error": "ABCI code: 6: error handling packet: unknown denom"}
        ordered = self._swaps.outcome(ctx, network, packet) if self._swaps is not None else None
        return ordered or {"result": _RESULT_OK}

    def _executed(self, packet: Packet) -> dict[str, str]:
        """What the remote chain answers to a transaction of an interchain account."""
        amounts = []
        for message in packet.body["msgs"]:
            ((kind, fields),) = message.items()
            if kind != "swap":
                continue
            token = fields["token_in"]
            amount = self._dex.output(int(token["amount"]), token["denom"], fields["routes"][-1]["token_out"])
            if amount < int(fields["token_out_min_amount"]):
                return {"error": "ABCI code: 7: error handling packet: see events for details"}
            amounts.append(amount)
        return {"result": base64.b64encode(swap_response(amounts)).decode()}

    def _acknowledge(self, ctx: Context, packet: Packet, outcome: dict[str, str]) -> Any:
        return self._hand.message(
            "ibc.core.channel.v1.MsgAcknowledgement",
            packet=self._packet(ctx, packet),
            acknowledgement=json.dumps(outcome, separators=(",", ":")).encode(),
            signer=self._hand.address,
        )

    def _open_ack(self, ctx: Context, packet: Packet) -> Any:
        network = self._counterparty.network(ctx, packet.network)
        version = {
            "version": "ics27-1",
            "controller_connection_id": network.connection,
            "host_connection_id": network.connection,
            "address": self._counterparty.account(network, packet.sender),
            "encoding": "proto3",
            "tx_type": "sdk_multi_msg",
        }
        return self._hand.message(
            "ibc.core.channel.v1.MsgChannelOpenAck",
            port_id=packet.port,
            channel_id=f"channel-{1000 + packet.sequence}",
            counterparty_channel_id=f"channel-{5000 + packet.sequence}",
            counterparty_version=json.dumps(version, separators=(",", ":")),
            signer=self._hand.address,
        )

    def _packet(self, ctx: Context, packet: Packet) -> dict[str, Any]:
        network = self._counterparty.network(ctx, packet.network)
        return {
            "sequence": packet.sequence,
            "source_port": packet.port,
            "source_channel": packet.channel,
            "destination_port": "transfer" if packet.kind == "transfer" else "icahost",
            "destination_channel": network.remote_channel,
            "data": json.dumps(packet.body, separators=(",", ":")).encode(),
            "timeout_timestamp": packet.timeout_ns,
        }

    def _receive(self, ctx: Context, arrival: Arrival) -> Any:
        network = self._counterparty.network(ctx, arrival.network)
        data = {
            "denom": arrival.remote_denom,
            "amount": str(arrival.amount),
            "sender": arrival.sender,
            "receiver": arrival.receiver,
            "memo": "",
        }
        packet = {
            "sequence": arrival.sequence,
            "source_port": "transfer",
            "source_channel": network.remote_channel,
            "destination_port": "transfer",
            "destination_channel": network.channel,
            "data": json.dumps(data, separators=(",", ":")).encode(),
        }
        return self._hand.message("ibc.core.channel.v1.MsgRecvPacket", packet=packet, signer=self._hand.address)
