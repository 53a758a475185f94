"""What a contract is: entry points over a storage and a querier, messages and events out.

The protocol's contracts are native Python behind this interface; real bytecode can stand behind it too, so messages
and answers are JSON bytes, addresses are bech32 text, and nothing here assumes Python on the other side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol


class ContractError(Exception):
    """A contract refused; the text is what the chain shows before its own suffix."""


class ContractTrap(Exception):
    """A contract aborted (overflow, assertion): on a real chain a VM trap."""


@dataclass(frozen=True, slots=True)
class BankCoin:
    """An amount of a bank denom."""

    denom: str
    amount: int


@dataclass(frozen=True, slots=True)
class Env:
    """The block, the transaction's index in it, and the contract's own address."""

    height: int
    time_ns: int
    chain_id: str
    tx_index: int
    contract: str


@dataclass(frozen=True, slots=True)
class Info:
    """Who calls and what coins came along; the funds are already on the contract's account."""

    sender: str
    funds: tuple[BankCoin, ...] = ()


@dataclass(slots=True)
class Event:
    """A custom event; on chain its type gets the prefix `wasm-` and `_contract_address` comes first."""

    type: str
    attributes: list[tuple[str, str]] = field(default_factory=list)


class ReplyOn(Enum):
    NEVER = "never"
    SUCCESS = "success"
    ERROR = "error"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class BankSend:
    to: str
    coins: tuple[BankCoin, ...]


@dataclass(frozen=True, slots=True)
class BankBurn:
    coins: tuple[BankCoin, ...]


@dataclass(frozen=True, slots=True)
class WasmExecute:
    contract: str
    msg: bytes
    funds: tuple[BankCoin, ...] = ()


@dataclass(frozen=True, slots=True)
class WasmInstantiate:
    code_id: int
    msg: bytes
    label: str
    admin: str | None = None
    funds: tuple[BankCoin, ...] = ()
    salt: bytes | None = None  # with a salt: instantiate2


@dataclass(frozen=True, slots=True)
class WasmMigrate:
    contract: str
    new_code_id: int
    msg: bytes


@dataclass(frozen=True, slots=True)
class WasmUpdateAdmin:
    contract: str
    admin: str | None  # None clears it


@dataclass(frozen=True, slots=True)
class Interchain:
    """A message to the chain's interchain modules: `register_ica`, `submit_tx` or `ibc_transfer` with its fields."""

    kind: str
    fields: dict[str, Any]


Message = BankSend | BankBurn | WasmExecute | WasmInstantiate | WasmMigrate | WasmUpdateAdmin | Interchain


@dataclass(frozen=True, slots=True)
class SubMessage:
    """A message with what the sender wants to hear of its outcome."""

    message: Message
    id: int = 0
    reply_on: ReplyOn = ReplyOn.NEVER
    payload: bytes = b""


@dataclass(slots=True)
class Response:
    """What an entry point asks for: messages run in order after it returned."""

    messages: list[SubMessage] = field(default_factory=list)
    attributes: list[tuple[str, str]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    data: bytes | None = None

    def send(self, message: Message) -> None:
        """Add a message whose outcome is not of interest; its failure fails the caller."""
        self.messages.append(SubMessage(message))


@dataclass(frozen=True, slots=True)
class Reply:
    """Outcome of a sub-message: either `error` is set, or it succeeded with `data` and its events."""

    id: int
    payload: bytes
    error: str | None = None
    data: bytes | None = None
    events: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()

    @property
    def ok(self) -> bool:
        return self.error is None


@dataclass(frozen=True, slots=True)
class ContractInfo:
    code_id: int
    creator: str
    admin: str | None


class Storage(Protocol):
    """The contract's own ordered storage."""

    def get(self, key: bytes) -> bytes | None: ...

    def set(self, key: bytes, value: bytes) -> None: ...

    def delete(self, key: bytes) -> None: ...

    def iterate(
        self, start: bytes = b"", end: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]: ...


class Querier(Protocol):
    """Reads of the rest of the chain; failures raise ContractError with the text a contract would see."""

    def smart(self, contract: str, msg: bytes) -> bytes: ...

    def contract_info(self, contract: str) -> ContractInfo: ...

    def code_checksum(self, code_id: int) -> bytes: ...

    def balance(self, address: str, denom: str) -> int: ...

    def balances(self, address: str) -> tuple[BankCoin, ...]: ...

    def address_valid(self, address: str) -> bool: ...

    def canonical(self, address: str) -> bytes: ...

    def human(self, canonical: bytes) -> str: ...


@dataclass(frozen=True, slots=True)
class Deps:
    """What an entry point works with."""

    storage: Storage
    querier: Querier


class Contract(Protocol):
    """The entry points; one that a contract lacks raises ContractError."""

    def instantiate(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response: ...

    def execute(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response: ...

    def query(self, deps: Deps, env: Env, msg: bytes) -> bytes: ...

    def reply(self, deps: Deps, env: Env, reply: Reply) -> Response: ...

    def sudo(self, deps: Deps, env: Env, msg: bytes) -> Response: ...

    def migrate(self, deps: Deps, env: Env, msg: bytes) -> Response: ...
