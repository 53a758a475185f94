"""The messages that execute a route: one transfer, whose memo orders the swap; unsigned."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, pairwise

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
MOST_LEGS = 2
_PERCENT = re.compile(r"[0-9]{1,3}(\.[0-9]{1,9})?")


@dataclass(frozen=True, slots=True)
class Leg:
    """What one transaction does: coins out, perhaps a swap, perhaps home again."""

    outward: wire.Transfer
    swap: wire.Swap | None
    home: bool
    denom_out: str
    operations: int
    amount: int
    expected: int


@dataclass(slots=True)
class Composer:
    """Turns routes into messages."""

    chain: ChainAccess
    markets: Markets
    clock: Clock
    chain_id: str
    prefixes: Bech32Prefixes

    async def messages(self, asked: wire.MessagesRequest) -> wire.Messages:
        """The transactions that execute the operations of a route, each to be sent when the one before has ended."""
        base_units(asked.amount_in, field="amount_in")
        base_units(asked.amount_out, field="amount_out")
        legs = self._legs(asked)
        until = await self._timeout(asked.timeout_seconds)
        txs, done = [], 0
        for leg in legs:
            made = await self._transaction(asked, leg, until, last=leg is legs[-1])
            indices = list(range(done, done + leg.operations))
            txs.append(wire.MessageTx(made, indices))
            done += leg.operations
        return wire.Messages(txs, [], [])

    async def _transaction(self, asked: wire.MessagesRequest, leg: Leg, until: int, *, last: bool) -> wire.CosmosTx:
        venue = await self._venue(leg.outward)
        sender, receiver, there = self._accounts(asked, venue, home=leg.home, last=last)
        memo = ""
        if leg.swap is not None:
            tolerance = _percent(asked.slippage_tolerance_percent)
            affiliate, bps = _affiliate(asked, leg.swap, venue)
            order = SwapOrder(
                oracle=leg.swap.quote.oracle,
                height=leg.swap.quote.height,
                denom_out=leg.swap.denom_out,
                min_out=str(int(leg.expected * (100 - tolerance) / 100)),
                receiver=receiver,
                affiliate=affiliate,
                affiliate_bps=bps,
            )
            memo = order.memo()
        content = {
            "source_port": "transfer",
            "source_channel": venue.channel,
            "token": {"denom": leg.outward.denom_in, "amount": str(leg.amount)},
            "sender": sender,
            "receiver": there if leg.swap is not None else receiver,
            "timeout_height": {},
            "timeout_timestamp": until,
            "memo": memo,
        }
        message = wire.EncodedMessage(msgspec.json.encode(content).decode(), TRANSFER)
        path = [self.chain_id, venue.chain_id] + ([self.chain_id] if leg.home else [])
        return wire.CosmosTx(self.chain_id, path, [message], sender)

    def _legs(self, asked: wire.MessagesRequest) -> list[Leg]:
        """The operations by transaction; they must lead from the asked source to the asked destination."""
        if asked.source_asset_chain_id != self.chain_id:
            raise InvalidInput(f"routes start on {self.chain_id}", field="source_asset_chain_id")
        groups = [list(steps) for _, steps in groupby(asked.operations, key=lambda step: step.tx_index)]
        if not 0 < len(groups) <= MOST_LEGS:
            raise InvalidInput("not the operations of a route of this router", field="operations")
        first, last = base_units(asked.amount_in, field="amount_in"), base_units(asked.amount_out, field="amount_out")
        legs = []
        for number, steps in enumerate(groups):
            # The caller's amounts count at the ends of a route, those of the operations in between.
            amount = first if number == 0 else base_units(steps[0].amount_in, field="operations")
            ends = number == len(groups) - 1
            expected = last if ends else base_units(steps[-1].amount_out, field="operations")
            legs.append(self._leg(steps, amount, expected))
        if legs[0].outward.denom_in != asked.source_asset_denom:
            raise InvalidInput("not the denom the operations start with", field="source_asset_denom")
        if legs[-1].denom_out != asked.dest_asset_denom:
            raise InvalidInput("not the denom the operations end with", field="dest_asset_denom")
        for leg, following in pairwise(legs):
            if not leg.home or leg.denom_out != following.outward.denom_in:
                raise InvalidInput("the operations do not follow one another", field="operations")
        return legs

    def _leg(self, steps: list[wire.Operation], amount: int, expected: int) -> Leg:
        kinds = ["transfer" if step.transfer else "swap" if step.swap else "" for step in steps]
        known = (["transfer"], ["transfer", "swap"], ["transfer", "swap", "transfer"])
        outward = steps[0].transfer
        if kinds not in known or outward is None or outward.from_chain_id != self.chain_id:
            raise InvalidInput("not the operations of a route of this router", field="operations")
        swap = steps[1].swap if len(steps) > 1 else None
        last = steps[-1].transfer
        denom_out = last.denom_out if last is not None else swap.denom_out if swap is not None else ""
        return Leg(outward, swap, len(steps) == 3, denom_out, len(steps), amount, expected)

    async def _venue(self, outward: wire.Transfer) -> Venue:
        for venue in await self.markets.venues():
            if (venue.chain_id, venue.channel) == (outward.to_chain_id, outward.channel):
                return venue
        raise InvalidInput("leads over a channel this router does not know", field="operations")

    def _accounts(self, asked: wire.MessagesRequest, venue: Venue, *, home: bool, last: bool) -> tuple[str, str, str]:
        """Who sends, who receives (the sender itself, where more is to follow), and the account in between."""
        if not asked.address_list:
            raise InvalidInput("must name the sender and the receiver", field="address_list")
        sender, receiver = asked.address_list[0], asked.address_list[-1 if last else 0]
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
    if not named or not swap.quote.affiliate_bps:
        return "", swap.quote.affiliate_bps
    if len(named) > 1:
        raise InvalidInput("a venue pays one affiliate", field=field)
    bps = basis_points(named[0].basisPointsFee or named[0].basis_points_fee or "0", field=field)
    if bps != swap.quote.affiliate_bps:
        raise InvalidInput(f"the route was quoted with {swap.quote.affiliate_bps} basis points", field=field)
    Bech32Prefixes(venue.style.prefix).account_bytes(named[0].address, field=field)
    return named[0].address, bps
