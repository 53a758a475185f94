"""LCD JSON of one registry, in both directions, and messages from URL parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from google.protobuf.message import Message

from leasehold.chain.json_decoding import JsonDecoder
from leasehold.chain.json_encoding import JsonEncoder
from leasehold.chain.parameters import ParameterReader
from leasehold.chain.registry import DEFAULT_NAMESPACE, MessageType, Registry, registry


class JsonCodec:
    """What the LCD needs to turn requests into messages and messages into bodies."""

    def __init__(self, types: Registry) -> None:
        self.types = types
        self._encoder = JsonEncoder(types)
        self._decoder = JsonDecoder(types)
        self._parameters = ParameterReader(self._decoder)

    def text(self, message: Message) -> str:
        """LCD JSON of a message."""
        return self._encoder.text(message)

    def encode(self, message: Message) -> bytes:
        """LCD JSON of a message as UTF-8."""
        return self._encoder.encode(message)

    def decode(self, kind: MessageType | str, data: bytes) -> Any:
        """A message of that class (or full name) from its JSON; InvalidJson says what is wrong."""
        return self._decoder.decode(kind, data)

    def merge(self, message: Message, data: bytes) -> None:
        """Sets the fields of a message that its JSON names."""
        self._decoder.merge(message, data)

    def set_query(self, message: Message, pairs: Iterable[tuple[str, str]], *, taken: Sequence[str] = ()) -> None:
        """Sets fields from query parameters, already percent-decoded; names in `taken` are left alone."""
        self._parameters.set_query(message, pairs, taken=taken)

    def set_path(self, message: Message, name: str, text: str) -> None:
        """Sets the field of one path segment, already percent-decoded."""
        self._parameters.set_path(message, name, text)


@lru_cache(maxsize=8)
def json_codec(namespace: str = DEFAULT_NAMESPACE) -> JsonCodec:
    """The shared codec of a namespace."""
    return JsonCodec(registry(namespace))
