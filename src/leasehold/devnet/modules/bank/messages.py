"""Messages that move coins, and those with which governance says which coins may move."""

from __future__ import annotations

import json
from typing import Any

from leasehold.devnet.app import coins as coin_lists
from leasehold.devnet.app.coins import Coins, coins_text, denom_valid, from_proto
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import (
    INVALID_ADDRESS,
    INVALID_COINS,
    INVALID_REQUEST,
    UNAUTHORIZED,
    ChainError,
    Kind,
    PlainError,
)
from leasehold.devnet.app.module import handles
from leasehold.devnet.modules.bank.ledger import ENABLED, Ledger

NO_INPUTS = Kind("bank", 2, "no inputs to send transaction")
NO_OUTPUTS = Kind("bank", 3, "no outputs to send transaction")
UNEQUAL_SUMS = Kind("bank", 4, "sum inputs != sum outputs")
MULTIPLE_SENDERS = Kind("bank", 9, "multiple senders not allowed")


class Messages(Ledger):
    """Handlers."""

    @handles("cosmos.bank.v1beta1.MsgSend")
    def handle_send(self, ctx: Context, msg: Any) -> Any:
        sender = self._address(msg.from_address, "from")
        recipient = self._address(msg.to_address, "to")
        coins = from_proto(msg.amount)
        if not coin_lists.valid(coins) or not coins:
            raise INVALID_COINS(coins_text(coins))
        self.require_enabled(ctx, coins)
        if self.blocked(recipient):
            raise UNAUTHORIZED(f"{msg.to_address} is not allowed to receive funds")
        self.send(ctx, sender, recipient, coins)
        return self.new("cosmos.bank.v1beta1.MsgSendResponse")

    def _address(self, text: str, what: str) -> bytes:
        try:
            return self.modules.auth.address_bytes(text)
        except PlainError as error:
            raise INVALID_ADDRESS(f"invalid {what} address: {error}") from None

    def _party(self, text: str, what: str) -> bytes:
        """One of many who send or receive; the original reads these with its older function."""
        try:
            return bytes(self.modules.auth.plain_address_bytes(text))
        except PlainError as error:
            raise INVALID_ADDRESS(f"invalid {what} address: {error}") from None

    @handles("cosmos.bank.v1beta1.MsgMultiSend")
    def handle_multi_send(self, ctx: Context, msg: Any) -> Any:
        if not msg.inputs:
            raise ChainError(NO_INPUTS)
        if len(msg.inputs) != 1:
            raise ChainError(MULTIPLE_SENDERS)
        if not msg.outputs:
            raise ChainError(NO_OUTPUTS)
        source = msg.inputs[0]
        sender = self._party(source.address, "input")
        spent = from_proto(source.coins)
        if not spent or not coin_lists.valid(spent):
            raise INVALID_COINS(coins_text(spent))
        outputs = []
        total: Coins = ()
        for output in msg.outputs:
            recipient = self._party(output.address, "output")
            coins = from_proto(output.coins)
            if not coins or not coin_lists.valid(coins):
                raise INVALID_COINS(coins_text(coins))
            outputs.append((recipient, coins, output.address))
            total = coin_lists.add(total, coins)
        if total != spent:
            raise ChainError(UNEQUAL_SUMS)
        self.require_enabled(ctx, spent)
        for recipient, _, text in outputs:
            if self.blocked(recipient):
                raise UNAUTHORIZED(f"{text} is not allowed to receive funds")
        ctx.emit("message", ("sender", self.text(sender)))
        self.take(ctx, sender, spent)
        for recipient, coins, _ in outputs:
            self.give(ctx, recipient, coins)
            ctx.emit(
                "transfer",
                ("recipient", self.text(recipient)),
                ("sender", self.text(sender)),
                ("amount", coins_text(coins)),
            )
            self.modules.auth.ensure(ctx, recipient)
        return self.new("cosmos.bank.v1beta1.MsgMultiSendResponse")

    @handles("cosmos.bank.v1beta1.MsgUpdateParams")
    def handle_update_params(self, ctx: Context, msg: Any) -> Any:
        self.modules.gov.require_authority(msg.authority)
        self.set_params(ctx, msg.params)
        return self.new("cosmos.bank.v1beta1.MsgUpdateParamsResponse")

    @handles("cosmos.bank.v1beta1.MsgSetSendEnabled")
    def handle_set_send_enabled(self, ctx: Context, msg: Any) -> Any:
        self.modules.gov.require_authority(msg.authority)
        self._check_enabled(msg)
        for entry in msg.send_enabled:
            ctx.store.set(ENABLED + entry.denom.encode(), b"1" if entry.enabled else b"0")
        for denom in msg.use_default_for:
            ctx.store.delete(ENABLED + denom.encode())
        return self.new("cosmos.bank.v1beta1.MsgSetSendEnabledResponse")

    def _check_enabled(self, msg: Any) -> None:
        seen = set()
        for entry in msg.send_enabled:
            shown = json.dumps(entry.denom)
            if entry.denom in seen:
                raise INVALID_REQUEST(f"duplicate denom entries found for {shown}")
            seen.add(entry.denom)
            if not denom_valid(entry.denom):
                raise INVALID_REQUEST(f"invalid SendEnabled denom {shown}: invalid denom: {entry.denom}")
        for denom in msg.use_default_for:
            if not denom_valid(denom):
                raise INVALID_REQUEST(f"invalid UseDefaultFor denom {json.dumps(denom)}: invalid denom: {denom}")
