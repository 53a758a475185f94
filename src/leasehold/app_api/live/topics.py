"""Topics and their parameters: what a subscribe message asks for, or why it can't."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from leasehold.core import addresses
from leasehold.core.errors import InvalidInput

MAX_ADDRESSES = 16
# Longer parameters name nothing that exists.
MAX_PARAMETER = 256
PRICES, BALANCES, LEASES, EARN = "prices", "balances", "leases", "earn"
TX_STATUS, SKIP_TX, TRANSFER = "tx_status", "skip_tx", "transfer"
NAMES = (PRICES, BALANCES, LEASES, EARN, TX_STATUS, SKIP_TX, TRANSFER)
_ALIASES = {"balance": BALANCES, "lease": LEASES, "tx": TX_STATUS}


class Key(NamedTuple):
    """One stream: a topic and whom or what it is about. A tuple, because it is looked up for every delivery."""

    topic: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a client subscribed to: equal when topic and what it is about are, however that was written."""

    topic: str
    about: tuple[str, ...] = ()
    params: tuple[tuple[str, str | tuple[str, ...]], ...] = field(default=(), compare=False)
    keys: tuple[Key, ...] = field(default=(), compare=False)

    def echo(self) -> dict[str, Any]:
        """The parameters as they were sent."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in self.params}


Parameters = Mapping[str, Any]


class Topics:
    """The topics of a chain with this address prefix; `brand` names it in texts."""

    def __init__(self, prefix: str, brand: str) -> None:
        self._prefix = prefix
        self._brand = brand
        self._readers: dict[str, Callable[[Parameters], Subscription]] = {
            PRICES: lambda params: Subscription(PRICES, keys=(Key(PRICES),)),
            BALANCES: self._balances,
            LEASES: lambda params: _of_address(LEASES, params),
            EARN: lambda params: _of_address(EARN, params),
            TX_STATUS: lambda params: _of_pair(TX_STATUS, params, "hash", "chain_id"),
            SKIP_TX: lambda params: _of_pair(SKIP_TX, params, "tx_hash", "source_chain"),
            TRANSFER: _transfer,
        }

    def read(self, topic: str, params: Parameters) -> Subscription:
        """The subscription of a message; InvalidInput says what is wrong with it."""
        reader = self._readers.get(_ALIASES.get(topic, topic))
        if reader is None:
            raise InvalidInput(f"Unknown topic: {topic[:MAX_PARAMETER]}")
        return reader(params)

    def _balances(self, params: Parameters) -> Subscription:
        listed, single = params.get("addresses"), params.get("address")
        found: tuple[str, ...]
        if isinstance(listed, list):
            found, name = tuple(one for one in listed if isinstance(one, str)), "addresses"
        elif isinstance(single, str):
            found, name = (single,), "address"
        else:
            raise InvalidInput("Missing 'addresses' or 'address' parameter")
        if not found:
            raise InvalidInput("Balance subscription requires at least one address")
        if len(found) > MAX_ADDRESSES:
            raise InvalidInput(f"Balance subscription exceeds the maximum of {MAX_ADDRESSES} addresses")
        if not all(self._own(one) for one in found):
            raise InvalidInput(f"Balance subscription contains an invalid {self._brand} address")
        value: str | tuple[str, ...] = found if name == "addresses" else found[0]
        keys = tuple(Key(BALANCES, one) for one in dict.fromkeys(found))
        return Subscription(BALANCES, found, ((name, value),), keys)

    def _own(self, text: str) -> bool:
        # A bech32m text names no account, but the public service takes it, and has nothing to show for it.
        try:
            return addresses.prefix_of(text) == self._prefix and text == text.lower()
        except addresses.InvalidAddress:
            return False


def canonical(topic: str) -> str:
    """The name of a topic in answers."""
    return _ALIASES.get(topic, topic)


def aliases_of(topic: str) -> list[str]:
    """Other names a topic is asked for by."""
    return [alias for alias, name in _ALIASES.items() if name == topic]


def _text(params: Parameters, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise InvalidInput(f"Missing '{name}' parameter")
    if len(value) > MAX_PARAMETER:
        raise InvalidInput(f"Parameter '{name}' is too long")
    return value


def _of_address(topic: str, params: Parameters) -> Subscription:
    address = _text(params, "address")
    return Subscription(topic, (address,), (("address", address),), (Key(topic, address),))


def _of_pair(topic: str, params: Parameters, first: str, second: str) -> Subscription:
    pair = (_text(params, first), _text(params, second))
    return Subscription(topic, pair, ((first, pair[0]), (second, pair[1])), (Key(topic, "@".join(pair)),))


def _transfer(params: Parameters) -> Subscription:
    if isinstance(params.get("id"), str):
        identifier = _text(params, "id")
        return Subscription(TRANSFER, (identifier,), (("id", identifier),), (Key(TRANSFER, identifier),))
    if params.get("tx_hash") is None:
        raise InvalidInput("Missing 'id' or 'tx_hash' parameter")
    return _of_pair(TRANSFER, params, "tx_hash", "source_chain")
