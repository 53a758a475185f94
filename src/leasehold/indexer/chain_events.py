"""Coins of followed contracts, transfers and staking: what the chain's own modules say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from leasehold.chain.client import wire
from leasehold.indexer import decode
from leasehold.indexer.accounts import ics20
from leasehold.indexer.decode import Message
from leasehold.indexer.moment import Moment
from leasehold.indexer.oracles import worth
from leasehold.indexer.world import SUPPLY, World

_COIN = re.compile(r"^(\d+)(.+)$")
_STAKING = {
    decode.DELEGATE: "delegate",
    decode.UNDELEGATE: "undelegate",
    decode.REDELEGATE: "redelegate",
    decode.WITHDRAW_REWARD: "withdraw",
}


def coins(text: str) -> list[tuple[int, str]]:
    """Amounts and denoms of a coin list such as `5uabc,7ibc/AB`."""
    found = []
    for part in text.split(","):
        match = _COIN.match(part.strip())
        if match:
            found.append((int(match[1]), match[2]))
    return found


def attribute(event: wire.Event, key: str) -> str:
    """The first value of an attribute, empty when absent."""
    for item in event.attributes:
        if item.key == key:
            return item.value
    return ""


class ChainFacts:
    """Applies what bank and staking say."""

    def __init__(self, world: World) -> None:
        self._world = world

    def moved(self, moment: Moment, event: wire.Event) -> None:
        """Coins came to or left a followed contract."""
        sign, key = (1, "receiver") if event.type == "coin_received" else (-1, "spender")
        address = attribute(event, key)
        if address not in self._world.watched:
            return
        balances = self._world.balances
        for amount, denom in coins(attribute(event, "amount")):
            balances[address, denom] = balances.get((address, denom), 0) + sign * amount
            moment.dirty.balances.add((address, denom))

    def issued(self, moment: Moment, event: wire.Event) -> None:
        """Coins were minted or burnt; counted once the supply is known."""
        sign = 1 if event.type == "coinbase" else -1
        balances = self._world.balances
        for amount, denom in coins(attribute(event, "amount")):
            key = (SUPPLY, denom)
            if key in balances:
                balances[key] += sign * amount
                moment.dirty.balances.add(key)

    def staked(self, moment: Moment, message: Message, rewards: str | None) -> None:
        """An account delegated, undelegated, moved a delegation or took its rewards."""
        content, kind = message.content, _STAKING[message.type_url]
        native = self._world.knowledge.native_denom
        source = None
        validator = getattr(content, "validator_address", "")
        if kind == "redelegate":
            source, validator = content.validator_src_address, content.validator_dst_address
        if kind == "withdraw":
            found = [(amount, denom) for amount, denom in coins(rewards or "") if denom == native]
            amount, denom = found[0] if found else (0, native)
        else:
            amount, denom = int(content.amount.amount or 0), content.amount.denom
        usd = None
        if denom == native:
            usd = worth(amount, self._world.native_price(moment.time_ns), self._world.knowledge.native_decimals)
        moment.rows.append(
            "staking_activity",
            (
                moment.height,
                moment.tx,
                message.message,
                message.inner,
                content.delegator_address,
                kind,
                validator,
                source,
                amount,
                denom,
                usd,
                moment.time,
                moment.tx_hash,
            ),
        )
        if kind == "withdraw":
            delegator = content.delegator_address
            moment.rows.add("stakers", (delegator,), moment.time, withdrawals=1, rewards=amount, rewards_usd=usd or 0)

    def transferred(self, moment: Moment, message: Message) -> None:
        """Coins went from one account to another."""
        for ordinal, (kind, sender, receiver, amount, denom) in enumerate(_transfers(message)):
            moment.rows.append(
                "transfers",
                (
                    moment.height,
                    moment.tx,
                    message.message,
                    message.inner,
                    ordinal,
                    kind,
                    sender,
                    receiver,
                    amount,
                    denom,
                    moment.time,
                ),
            )


def _transfers(message: Message) -> Iterable[tuple[str, str, str, int, str]]:
    content = message.content
    match message.type_url:
        case decode.SEND:
            for coin in content.amount:
                yield "send", content.from_address, content.to_address, int(coin.amount or 0), coin.denom
        case decode.IBC_TRANSFER:
            yield "ibc-out", content.sender, content.receiver, int(content.token.amount or 0), content.token.denom
        case decode.IBC_RECEIVE:
            packet = ics20(content.packet.data)
            if packet is not None:
                yield "ibc-in", packet.sender, packet.receiver, int(packet.amount), packet.denom
        case decode.MULTI_SEND:
            sender = content.inputs[0].address if content.inputs else ""
            for output in content.outputs:
                for coin in output.coins:
                    yield "send", sender, output.address, int(coin.amount or 0), coin.denom


def by_message(events: Iterable[wire.Event]) -> Mapping[int, list[wire.Event]]:
    """Events of a transaction by the message that caused them; -1 for those before any message."""
    found: dict[int, list[wire.Event]] = {}
    for event in events:
        last = event.attributes[-1] if event.attributes else None
        number = int(last.value) if last is not None and last.key == "msg_index" and last.value.isdigit() else -1
        found.setdefault(number, []).append(event)
    return found
