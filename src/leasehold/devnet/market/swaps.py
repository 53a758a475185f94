"""Swaps that users order with the memo of a transfer, filled at the prices of the chain's own oracles."""

from __future__ import annotations

import base64
import json
from fractions import Fraction
from typing import Any

from leasehold.core.addresses import ACCOUNT_LENGTH, CONTRACT_LENGTH, InvalidAddress, decode, escrow_address
from leasehold.devnet.app.context import Context
from leasehold.devnet.genesis.protocols import ProtocolSpec
from leasehold.devnet.market.scene import Scene
from leasehold.devnet.modules.counterparty import Network, Packet
from leasehold.devnet.state.versions import MissingHeight
from leasehold.protocol.swap_order import QUOTE_BLOCKS, MalformedOrder, Proceeds, SwapOrder, order_in, proceeds


class Unfilled(Exception):
    """An order the DEX refuses; the coins go back."""


class SwapDesk:
    """Fills orders."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def outcome(self, ctx: Context, network: Network, packet: Packet) -> dict[str, str] | None:
        """What the other chain acknowledges to a transfer whose memo orders a swap; None where it orders none."""
        try:
            order = order_in(packet.body["memo"])
            if order is None:
                return None
            filled = self._fill(ctx, network, packet, order)
        except (MalformedOrder, Unfilled) as error:
            return {"error": f"ABCI code: 7: error handling packet: {error}"}
        return {"result": filled_result(filled)}

    def _fill(self, ctx: Context, network: Network, packet: Packet, order: SwapOrder) -> Proceeds:
        spec = self._protocol(network, order.oracle)
        sold = self._ticker(spec, network.denoms.get(packet.body["denom"], ""))
        bought = self._ticker(spec, order.denom_out)
        amount, least = int(packet.body["amount"]), int(order.min_out)
        now = self._proceeds(ctx, order, sold, bought, amount)
        if now.amount < least:
            raise Unfilled(f"the price moved: {now.amount} is less than {least}")
        quoted = self._proceeds(self._quoted(ctx, order.height), order, sold, bought, amount)
        if quoted.amount < max(least, 1):
            raise Unfilled(f"{quoted.amount} is less than {max(least, 1)}")
        self._check_accounts(network, order)
        self._check_escrow(ctx, network, order, quoted)
        return quoted

    def _check_accounts(self, network: Network, order: SwapOrder) -> None:
        """Whoever is to be paid must exist in principle: an arrival nobody can take would never end."""
        _check_account(order.receiver, self._scene.app.identity.prefix, network.prefix)
        if order.affiliate:
            _check_account(order.affiliate, network.prefix)

    def _protocol(self, network: Network, oracle: str) -> ProtocolSpec:
        deployment = self._scene.deployment
        for spec in deployment.protocols:
            if spec.network.key == network.name and deployment.addresses(spec.name).oracle == oracle:
                return spec
        raise Unfilled(f"{oracle} is no oracle of {network.name}")

    def _ticker(self, spec: ProtocolSpec, remote: str) -> str:
        currency = self._scene.deployment.builds[spec.name].currencies.by_dex.get(remote)
        if currency is None:
            raise Unfilled(f"{spec.name} does not trade {remote}")
        return currency.ticker

    def _quoted(self, ctx: Context, height: int) -> Context:
        """The state of a quote that is recent, else the present one."""
        if not 0 < height < ctx.block.height or ctx.block.height - height > QUOTE_BLOCKS:
            return ctx
        try:
            return self._scene.app.context(height)
        except MissingHeight:
            return ctx

    def _proceeds(self, ctx: Context, order: SwapOrder, sold: str, bought: str, amount: int) -> Proceeds:
        prices = [self._price(ctx, order.oracle, ticker) for ticker in (sold, bought)]
        return proceeds(amount, prices[0], prices[1], order.affiliate_bps)

    def _price(self, ctx: Context, oracle: str, ticker: str) -> Fraction:
        answer: Any = self._scene.ask(ctx, oracle, {"base_price": {"currency": ticker}})
        if answer is None:
            raise Unfilled(f"there is no price of {ticker}")
        return Fraction(int(answer["amount_quote"]["amount"]), int(answer["amount"]["amount"]))

    def _check_escrow(self, ctx: Context, network: Network, order: SwapOrder, filled: Proceeds) -> None:
        """The native token can come home only as far as it went out."""
        app = self._scene.app
        base = app.identity.base_denom
        if network.here(order.denom_out) == base:
            escrow = escrow_address("transfer", network.channel)
            if app.modules.bank.balance(ctx, escrow, base) < filled.amount:
                raise Unfilled("the pool holds too little")


def _check_account(text: str, *prefixes: str) -> None:
    try:
        prefix, data = decode(text)
    except InvalidAddress as error:
        raise Unfilled(f"{text[:100]!r}: {error.message}") from None
    if prefix not in prefixes or len(data) not in (ACCOUNT_LENGTH, CONTRACT_LENGTH) or text != text.lower():
        raise Unfilled(f"{text} is no account of {' or '.join(prefixes)}")


def filled_result(filled: Proceeds) -> str:
    """The acknowledgement's result: what was paid, as base64 of JSON."""
    content = {"swap": {"amount": str(filled.amount), "affiliate": str(filled.affiliate)}}
    return base64.b64encode(json.dumps(content, separators=(",", ":")).encode()).decode()
