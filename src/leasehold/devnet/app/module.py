"""A module: its messages, queries and block hooks, declared once.

A message handler is a method marked `@handles("pkg.MsgName")`, a stateless check `@validates("pkg.MsgName")`, a query
`@answers("pkg.Service/Method")`; `{ns}` in a name stands for the chain's own namespace. The application collects them:
the gRPC server, the LCD routes and the `abci_query` paths all come from the same table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from leasehold.chain.json_decoding import JsonDecoder
from leasehold.core.addresses import Bech32Prefixes
from leasehold.core.errors import InvalidInput
from leasehold.devnet.app.coins import Coin, DecCoin
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import UNPACK_ANY, PlainError, undefined
from leasehold.devnet.app.pagination import Page
from leasehold.devnet.app.signers import signer_addresses

if TYPE_CHECKING:
    from leasehold.chain.registry import Registry
    from leasehold.core.settings import Identity
    from leasehold.devnet.app.assembly import Modules

Function = TypeVar("Function", bound=Callable[..., Any])


def handles(name: str) -> Callable[[Function], Function]:
    """Mark a method as the handler of a message: (ctx, message) -> response message."""
    return _marked("handles", name)


def validates(name: str) -> Callable[[Function], Function]:
    """Mark a method as the stateless check of a message, run before anything else: (message) -> None."""
    return _marked("validates", name)


def answers(name: str, *, in_parts: bool = False) -> Callable[[Function], Function]:
    """Mark a method as the answer to a query: (ctx, request message) -> response message.

    One that comes `in_parts` leaves off as `Unfinished` where its context has a walk, and goes on when called again.
    """

    def mark(function: Function) -> Function:
        marked = _marked("answers", name)(function)
        return _marked("parts", name)(marked) if in_parts else marked

    return mark


def _marked(kind: str, name: str) -> Callable[[Function], Function]:
    def mark(function: Function) -> Function:
        marks = function.__dict__.setdefault("_marks", [])
        marks.append((kind, name))
        return function

    return mark


class Module:
    """Base of all modules; `name` is the one in genesis and in event attributes."""

    name: str = ""
    # Names of the module accounts this module owns, with their permissions.
    accounts: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 - a class constant

    def __init__(self, identity: Identity, registry: Registry) -> None:
        self.identity = identity
        self.registry = registry
        self.prefixes = Bech32Prefixes(identity.prefix)
        self.modules: Modules
        self._decoder = JsonDecoder(registry)
        self._parsed: dict[tuple[str, bytes], Any] = {}

    def connect(self, modules: Modules) -> None:
        """Meet the other modules; called once, before anything runs."""
        self.modules = modules

    def init_genesis(self, ctx: Context, state: dict[str, Any]) -> None:
        """Write the module's part of the genesis document."""

    def begin_block(self, ctx: Context) -> None:
        """Run before the transactions of a block."""

    def end_block(self, ctx: Context) -> None:
        """Run after the transactions of a block."""

    def new(self, name: str, **fields: Any) -> Any:
        """A protobuf message by its full name, `{ns}` replaced."""
        return self.registry.new(name.replace("{ns}", self.identity.namespace), **fields)

    def read(self, ctx: Context, key: bytes, name: str) -> Any:
        """A stored protobuf message; parsed ones are shared, so the caller must not change it."""
        data = ctx.store.get(key)
        if data is None:
            return None
        cached = self._parsed.get((name, data))
        if cached is None:
            cached = self.registry.type(name.replace("{ns}", self.identity.namespace)).FromString(data)
            if len(self._parsed) >= 4096:
                self._parsed.clear()
            self._parsed[(name, data)] = cached
        return cached

    def from_json(self, name: str, document: Any) -> Any:
        """A protobuf message from its JSON form in a genesis document."""
        return self._decoder.decode(name.replace("{ns}", self.identity.namespace), json.dumps(document).encode())

    def any_from_json(self, document: dict[str, Any]) -> Any:
        """The message of a JSON object that names its type in `@type`."""
        members = {key: value for key, value in document.items() if key != "@type"}
        return self.from_json(document["@type"].removeprefix("/"), members)

    def unpacked(self, packed: Any) -> Any:
        """The message inside an Any of a message; a refusal when there is none or it is malformed."""
        try:
            return self.registry.unpack(packed)
        except InvalidInput as error:
            raise UNPACK_ANY(error.message) from None

    def signers_of(self, message: Any) -> list[bytes]:
        """Who must sign a message that another carries."""
        try:
            return signer_addresses(self.registry, self.prefixes, message)
        except PlainError as error:
            raise undefined(str(error)) from None

    def page_response(self, result: Page) -> Any:
        return self.registry.new("cosmos.base.query.v1beta1.PageResponse", next_key=result.next_key, total=result.total)

    def coin(self, coin: Coin) -> Any:
        return self.registry.new("cosmos.base.v1beta1.Coin", denom=coin.denom, amount=str(coin.amount))

    def coins(self, coins: Iterable[Coin]) -> list[Any]:
        return [self.coin(coin) for coin in coins]

    def dec_coins(self, coins: Iterable[DecCoin]) -> list[Any]:
        return [
            self.registry.new("cosmos.base.v1beta1.DecCoin", denom=coin.denom, amount=str(coin.amount))
            for coin in coins
        ]

    def marked(self, kind: str) -> Iterator[tuple[str, Callable[..., Any]]]:
        """Full names and bound methods marked as `kind`."""
        for attribute in dir(type(self)):
            function = getattr(type(self), attribute)
            for found, name in getattr(function, "_marks", ()):
                if found == kind:
                    yield name.replace("{ns}", self.identity.namespace), getattr(self, attribute)
