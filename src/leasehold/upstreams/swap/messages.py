"""The messages that execute a route: one transfer, whose memo orders the swap; unsigned."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

import msgspec

from leasehold.core.addresses import Bech32Prefixes, encode
from leasehold.core.clock import NANOSECONDS, Clock, parse_rfc3339
from leasehold.core.errors import InvalidInput
from leasehold.protocol.swap_order import SwapOrder
from leasehold.upstreams.chain_access import ChainAccess
from leasehold.upstreams.swap import wire
from leasehold.upstreams.swap.markets import Markets, Venue
from leasehold.upstreams.swap.routing import base_units, basis_points

TRANSFER = "/ibc.applications.transfer.v1.MsgTransfer"
LONGEST_TIMEOUT = 7 * 86_400
_PERCENT = re.compile(r"[0-9]{1,3}(\.[0-9]{1,9})?")


@dataclass(slots=True)
class Composer:
    """Turns routes into messages."""

    chain: ChainAccess
    markets: Markets
    clock: Clock
    chain_id: str
    prefixes: Bech32Prefixes

    async def messages(self, asked: wire.MessagesRequest) -> wire.Messages:
        """The transaction that executes the operations of a route."""
        amount = base_units(asked.amount_in, field="amount_in")
        expected = base_units(asked.amount_out, field="amount_out")
        tolerance = _percent(asked.slippage_tolerance_percent)
        outward, swap, home = self._shape(asked)
        venue = await self._venue(outward)
        sender, receiver, there = self._accounts(asked, venue, home=home)
        memo = ""
        if swap is not None:
            affiliate, bps = _affiliate(asked, swap, venue)
            order = SwapOrder(
                oracle=swap.quote.oracle,
                height=swap.quote.height,
                denom_out=swap.denom_out,
                min_out=str(int(expected * (100 - tolerance) / 100)),
                receiver=receiver,
                affiliate=affiliate,
                affiliate_bps=bps,
            )
            memo = order.memo()
        content = {
            "source_port": "transfer",
            "source_channel": venue.channel,
            "token": {"denom": outward.denom_in, "amount": str(amount)},
            "sender": sender,
            "receiver": there if swap is not None else receiver,
            "timeout_height": {},
            "timeout_timestamp": await self._timeout(asked.timeout_seconds),
            "memo": memo,
        }
        message = wire.EncodedMessage(msgspec.json.encode(content).decode(), TRANSFER)
        path = [self.chain_id, venue.chain_id] + ([self.chain_id] if home else [])
        transaction = wire.CosmosTx(self.chain_id, path, [message], sender)
        return wire.Messages([wire.MessageTx(transaction, list(range(len(asked.operations))))], [], [])

    def _shape(self, asked: wire.MessagesRequest) -> tuple[wire.Transfer, wire.Swap | None, bool]:
        """The transfer out, the swap if there is one, and whether the proceeds come home."""
        kinds = ["transfer" if step.transfer else "swap" if step.swap else "" for step in asked.operations]
        known = (["transfer"], ["transfer", "swap"], ["transfer", "swap", "transfer"])
        if kinds not in known or not asked.operations[0].transfer:
            raise InvalidInput("not the operations of a route of this router", field="operations")
        outward = asked.operations[0].transfer
        if asked.source_asset_chain_id != self.chain_id or outward.from_chain_id != self.chain_id:
            raise InvalidInput(f"routes start on {self.chain_id}", field="source_asset_chain_id")
        if outward.denom_in != asked.source_asset_denom:
            raise InvalidInput("not the denom the operations start with", field="source_asset_denom")
        swap = asked.operations[1].swap if len(kinds) > 1 else None
        last = asked.operations[-1]
        ends = last.transfer.denom_out if last.transfer else swap.denom_out if swap else ""
        if ends != asked.dest_asset_denom:
            raise InvalidInput("not the denom the operations end with", field="dest_asset_denom")
        return outward, swap, len(kinds) == 3

    async def _venue(self, outward: wire.Transfer) -> Venue:
        for venue in await self.markets.venues():
            if (venue.chain_id, venue.channel) == (outward.to_chain_id, outward.channel):
                return venue
        raise InvalidInput("leads over a channel this router does not know", field="operations")

    def _accounts(self, asked: wire.MessagesRequest, venue: Venue, *, home: bool) -> tuple[str, str, str]:
        """Who sends, who receives, and the account on the venue's chain in between."""
        if not asked.address_list:
            raise InvalidInput("must name the sender and the receiver", field="address_list")
        sender, receiver = asked.address_list[0], asked.address_list[-1]
        owner = self.prefixes.account_bytes(sender, field="address_list")
        remote = Bech32Prefixes(venue.style.prefix)
        there = next(
            (one for one in asked.address_list if one.startswith(f"{remote.account}1")), encode(remote.account, owner)
        )
        remote.account_bytes(there, field="address_list")
        if home:
            self.prefixes.account_bytes(receiver, field="address_list")
        else:
            remote.account_bytes(receiver, field="address_list")
        return sender, receiver, there

    async def _timeout(self, seconds: str) -> int:
        valid = seconds.isascii() and seconds.isdigit() and len(seconds) <= 9 and 0 < int(seconds) <= LONGEST_TIMEOUT
        if not valid:
            raise InvalidInput(f"must be seconds up to {LONGEST_TIMEOUT}", field="timeout_seconds")
        # A development chain may be ahead of the clock, and judges time-outs by its own time.
        status = await self.chain.nodes.status()
        return max(self.clock.now_ns(), parse_rfc3339(status.latest_time)) + int(seconds) * NANOSECONDS


def _percent(text: str) -> Fraction:
    if not _PERCENT.fullmatch(text) or Fraction(text) > 100:
        raise InvalidInput("must be a percentage", field="slippage_tolerance_percent")
    return Fraction(text)


def _affiliate(asked: wire.MessagesRequest, swap: wire.Swap, venue: Venue) -> tuple[str, int]:
    """Who gets the quoted fee; without anyone named the venue keeps it."""
    field = "chain_ids_to_affiliates"
    named = asked.chain_ids_to_affiliates.get(venue.chain_id, wire.Affiliates()).affiliates
    if not named:
        return "", swap.quote.affiliate_bps
    if len(named) > 1:
        raise InvalidInput("a venue pays one affiliate", field=field)
    bps = basis_points(named[0].basisPointsFee or named[0].basis_points_fee or "0", field=field)
    if bps != swap.quote.affiliate_bps:
        raise InvalidInput(f"the route was quoted with {swap.quote.affiliate_bps} basis points", field=field)
    Bech32Prefixes(venue.style.prefix).account_bytes(named[0].address, field=field)
    return named[0].address, bps
