"""What the contract runtime needs of the chain around it: a bank, the interchain modules and a gas meter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from leasehold.devnet.app.abci import Event
from leasehold.devnet.state.store import Reader, Store
from leasehold.devnet.wasm.contract import BankCoin, Interchain


class Bank(Protocol):
    """Moves coins between bech32 accounts; a refusal is a ModuleFailure and changes nothing."""

    def send(self, store: Store, sender: str, recipient: str, coins: Sequence[BankCoin]) -> list[Event]:
        """Move coins and return the bank's events."""
        ...

    def burn(self, store: Store, owner: str, coins: Sequence[BankCoin]) -> list[Event]: ...

    def balance(self, store: Reader, address: str, denom: str) -> int: ...

    def balances(self, store: Reader, address: str) -> tuple[BankCoin, ...]:
        """All coins of an account in denom order."""
        ...


class Gas(Protocol):
    """A gas meter; it raises an error of its own, which no contract can catch, when the limit is passed."""

    def charge(self, amount: int, reason: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Block:
    """The block being executed, or queried at, and the index of the transaction in it."""

    height: int
    time_ns: int
    chain_id: str
    tx_index: int = 0


@dataclass(slots=True)
class Call:
    """One operation in progress: its state, its block, the events so far and how deep calls are nested."""

    store: Store
    block: Block
    gas: Gas | None = None
    events: list[Event] = field(default_factory=list)
    depth: int = 0


class InterchainHandler(Protocol):
    """Takes the messages contracts send to interchain accounts and transfers; events go to `call.events`."""

    def dispatch(self, call: Call, contract: str, message: Interchain) -> bytes | None:
        """Handle one message of a contract and return its response data; a refusal is a ModuleFailure."""
        ...


@dataclass(frozen=True, slots=True)
class GasCosts:
    """What contract work costs, in units of gas."""

    entry: int = 60_000
    message_byte: int = 3
    read: int = 1000
    read_byte: int = 3
    write: int = 2000
    write_byte: int = 30
    delete: int = 1000
    next: int = 30
