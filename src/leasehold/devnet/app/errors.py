"""Errors of the state machine as its clients see them.

ChainError      a registered error (codespace, code, description) with what led to it; fails a transaction or a query
StatusError     a query answered with a gRPC status
PlainError      a failure without a registered kind (a bad bech32 text in a query, for instance)

A transaction shows `context: description`; gRPC and LCD show `codespace C code N: description: context`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


@dataclass(frozen=True, slots=True)
class Kind:
    """A registered error."""

    codespace: str
    code: int
    description: str

    def __call__(self, context: str) -> ChainError:
        """The error with what led to it; an empty text leaves its colon, as in the original."""
        return ChainError(self, context)


class ChainError(Exception):
    """A registered error with its context, outermost first."""

    def __init__(self, kind: Kind, context: str | None = None) -> None:
        super().__init__(context or "")
        self.kind = kind
        self.context = context

    @property
    def log(self) -> str:
        return self.kind.description if self.context is None else f"{self.context}: {self.kind.description}"

    @property
    def status_text(self) -> str:
        """The text under which gRPC shows it."""
        head = f"codespace {self.kind.codespace} code {self.kind.code}: {self.kind.description}"
        return f"{head}: {self.context}" if self.context else head

    def wrap(self, context: str) -> ChainError:
        """The same error with an outer context."""
        return ChainError(self.kind, context if self.context is None else f"{context}: {self.context}")

    def __str__(self) -> str:
        return self.log


class Status(IntEnum):
    """gRPC status codes."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16

    @property
    def title(self) -> str:
        """The name as Go prints it: NotFound, InvalidArgument."""
        return "".join(part.capitalize() for part in self.name.split("_")) if self.name != "OK" else "OK"


class StatusError(Exception):
    """A query's answer that is a gRPC status."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class PlainError(Exception):
    """A failure without a registered kind."""


class SimulationError(Exception):
    """A dry run failed; `error` is the registered error."""

    def __init__(self, error: ChainError, gas_used: int) -> None:
        super().__init__(error.log)
        self.error = error
        self.gas_used = gas_used


def _sdk(code: int, description: str) -> Kind:
    return Kind("sdk", code, description)


TX_DECODE = _sdk(2, "tx parse error")
INVALID_SEQUENCE = _sdk(3, "invalid sequence")
UNAUTHORIZED = _sdk(4, "unauthorized")
INSUFFICIENT_FUNDS = _sdk(5, "insufficient funds")
UNKNOWN_REQUEST = _sdk(6, "unknown request")
INVALID_ADDRESS = _sdk(7, "invalid address")
INVALID_PUBKEY = _sdk(8, "invalid pubkey")
UNKNOWN_ADDRESS = _sdk(9, "unknown address")
INVALID_COINS = _sdk(10, "invalid coins")
OUT_OF_GAS = _sdk(11, "out of gas")
MEMO_TOO_LARGE = _sdk(12, "memo too large")
INSUFFICIENT_FEE = _sdk(13, "insufficient fee")
TOO_MANY_SIGNATURES = _sdk(14, "maximum number of signatures exceeded")
NO_SIGNATURES = _sdk(15, "no signatures supplied")
JSON_UNMARSHAL = _sdk(17, "failed to unmarshal JSON bytes")
INVALID_REQUEST = _sdk(18, "invalid request")
TX_IN_MEMPOOL = _sdk(19, "tx already in mempool")
MEMPOOL_FULL = _sdk(20, "mempool is full")
TX_TOO_LARGE = _sdk(21, "tx too large")
KEY_NOT_FOUND = _sdk(22, "key not found")
INVALID_SIGNER = _sdk(24, "tx intended signer does not match the given signer")
INVALID_HEIGHT = _sdk(26, "invalid height")
INVALID_TYPE = _sdk(29, "invalid type")
TX_TIMEOUT_HEIGHT = _sdk(30, "tx timeout height")
UNKNOWN_EXTENSION = _sdk(31, "unknown extension options")
WRONG_SEQUENCE = _sdk(32, "incorrect account sequence")
UNPACK_ANY = _sdk(34, "failed unpacking protobuf message from Any")
LOGIC = _sdk(35, "internal logic error")
CONFLICT = _sdk(36, "conflict")
NOT_SUPPORTED = _sdk(37, "feature not supported")
NOT_FOUND = _sdk(38, "not found")
INVALID_GAS_LIMIT = _sdk(41, "invalid gas limit")
TX_TIMEOUT = _sdk(42, "tx timeout")
UNDEFINED = Kind("undefined", 1, "")
# What a handler trips over unawares: the node recovers and tells, and nothing else happens.
PANIC = Kind("undefined", 111222, "panic")


def undefined(text: str) -> ChainError:
    """An unregistered error inside a transaction: codespace `undefined`, code 1, the bare text."""
    return ChainError(Kind("undefined", 1, text))
