"""What contracts and users send to other chains."""

from __future__ import annotations

import json

from leasehold.core.addresses import decode, escrow_address
from leasehold.devnet.app.coins import Coin
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import ChainError
from leasehold.devnet.modules.counterparty.ledger import Ledger
from leasehold.devnet.modules.packet_events import sent_attributes
from leasehold.devnet.modules.wasm.host import context_around
from leasehold.devnet.wasm.contract import Interchain
from leasehold.devnet.wasm.failures import ModuleFailure
from leasehold.devnet.wasm.host import Call


class Sending(Ledger):
    """Packets out."""

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
        packet = self.queue(ctx, kind, contract, network, port, network.channel, fields, timeout)
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
        packet = self.queue(ctx, "transfer", sender, network, "transfer", channel, body, timeout_ns)
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
