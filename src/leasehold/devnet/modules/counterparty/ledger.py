"""What is kept about the simulated chains: packets and coins on their way, accounts there, callbacks that failed."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from leasehold.core.addresses import decode, encode, escrow_address, module_address
from leasehold.devnet.app.coins import Coin
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import ChainError
from leasehold.devnet.app.module import Module
from leasehold.devnet.modules.counterparty.networks import INVALID_PACKET, Arrival, Network, Networks, Packet
from leasehold.devnet.state.store import prefix_end

_SEQUENCE = b"counterparty/sequence"
PACKET = b"counterparty/packet/"
ARRIVAL = b"counterparty/arrival/"
_HELD = b"counterparty/held/"
_FAILURE = b"counterparty/failure/"
_NETWORKS = b"counterparty/networks"


class Ledger(Module):
    """Tables of the simulated chains."""

    name = "counterparty"

    def init_genesis(self, ctx: Context, state: dict[str, Any]) -> None:
        document = {"relayer": state.get("relayer", ""), "networks": state.get("networks", [])}
        ctx.store.set(_NETWORKS, json.dumps(document).encode())

    def networks(self, ctx: Context) -> Networks:
        return msgspec.json.decode(ctx.store.get(_NETWORKS) or b'{"relayer":"","networks":[]}', type=Networks)

    def network(self, ctx: Context, name: str) -> Network:
        return next(network for network in self.networks(ctx).networks if network.name == name)

    def queue(
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
        sequence = self.take_sequence(ctx)
        packet = Packet(sequence, kind, sender, network.name, port, channel, body, timeout_ns)
        ctx.store.set(PACKET + sequence.to_bytes(8, "big"), msgspec.json.encode(packet))
        return packet

    def next_sequence(self, ctx: Context) -> int:
        """Sequence the next packet will have."""
        return int(ctx.store.get(_SEQUENCE) or b"0") + 1

    def take_sequence(self, ctx: Context) -> int:
        sequence = self.next_sequence(ctx)
        ctx.store.set(_SEQUENCE, str(sequence).encode())
        return sequence

    # What a relayer looks at.

    def pending(self, ctx: Context) -> list[Packet]:
        """Packets without an outcome, oldest first."""
        pairs = ctx.store.iterate(PACKET, prefix_end(PACKET))
        return [msgspec.json.decode(value, type=Packet) for _, value in pairs]

    def arrivals(self, ctx: Context) -> list[Arrival]:
        """Coins that left a DEX account and are not here yet, oldest first."""
        pairs = ctx.store.iterate(ARRIVAL, prefix_end(ARRIVAL))
        return [msgspec.json.decode(value, type=Arrival) for _, value in pairs]

    def is_waiting(self, ctx: Context) -> bool:
        """Whether a packet has no outcome yet or coins are on their way here."""
        return any(next(ctx.store.iterate(prefix, prefix_end(prefix)), None) for prefix in (PACKET, ARRIVAL))

    def account(self, network: Network, contract: str) -> str:
        """The account a contract has on another chain."""
        return encode(network.prefix, module_address(f"interchain account of {contract}"))

    def held(self, ctx: Context, account: str, denom: str) -> int:
        """What an account of a simulated chain holds of one of that chain's denoms."""
        return int(ctx.store.get(_HELD + f"{account}/{denom}".encode()) or b"0")

    def hold(self, ctx: Context, account: str, denom: str, delta: int) -> None:
        key = _HELD + f"{account}/{denom}".encode()
        amount = self.held(ctx, account, denom) + delta
        if amount < 0:
            raise INVALID_PACKET(f"{account} holds less than {-delta}{denom}")
        if amount:
            ctx.store.set(key, str(amount).encode())
        else:
            ctx.store.delete(key)

    def depart(self, ctx: Context, network: Network, fields: dict[str, Any]) -> int:
        """Put coins on their way home; returns the sequence they will arrive under."""
        sequence = self.take_sequence(ctx)
        token = fields["token"]
        arrival = Arrival(
            sequence, network.name, fields["sender"], fields["receiver"], token["denom"], int(token["amount"])
        )
        ctx.store.set(ARRIVAL + sequence.to_bytes(8, "big"), msgspec.json.encode(arrival))
        return sequence

    def pay_out(self, ctx: Context, channel: str, receiver: str, token: Coin) -> None:
        to = decode(receiver)[1]
        if token.denom == self.identity.base_denom:
            self.modules.bank.send(ctx, escrow_address("transfer", channel), to, (token,))
            return
        self.modules.bank.mint(ctx, "transfer", (token,))
        self.modules.bank.send(ctx, module_address("transfer"), to, (token,))

    def notify(self, ctx: Context, contract: str, message: dict[str, Any]) -> None:
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
