"""Results and events as the block store keeps them: MessagePack, compressed where it pays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import zstandard

from leasehold.devnet.app.abci import ConsensusParams, Event, TxResult, ValidatorUpdate

_THRESHOLD = 200
_PLAIN, _COMPRESSED = b"\x00", b"\x01"

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode


class Codec:
    """Packs records; one per thread, because a zstd context serves one thread at a time."""

    def __init__(self) -> None:
        self._compress = zstandard.ZstdCompressor(level=1).compress
        self._decompress = zstandard.ZstdDecompressor().decompress

    def pack(self, value: object) -> bytes:
        data = _encode(value)
        return _PLAIN + data if len(data) < _THRESHOLD else _COMPRESSED + self._compress(data)

    def unpack(self, data: bytes) -> Any:
        return _decode(data[1:] if data[:1] == _PLAIN else self._decompress(data[1:]))

    def pack_events(self, events: Sequence[Event]) -> bytes:
        return self.pack([(event.type, event.attributes) for event in events])

    def unpack_events(self, data: bytes) -> list[Event]:
        return read_events(self.unpack(data))

    def pack_result(self, result: TxResult) -> bytes:
        events = [(event.type, event.attributes) for event in result.events]
        head = (result.code, result.data, result.log, result.info, result.gas_wanted, result.gas_used)
        return self.pack((*head, result.codespace, events))

    def unpack_result(self, data: bytes) -> TxResult:
        code, payload, log, info, wanted, used, codespace, events = self.unpack(data)
        return TxResult(code, payload, log, info, wanted, used, read_events(events), codespace)


def read_events(packed: list[Any]) -> list[Event]:
    return [Event(kind, [(key, value) for key, value in attributes]) for kind, attributes in packed]


def pack_params(params: ConsensusParams) -> bytes:
    return _encode(
        (
            params.block_max_bytes,
            params.block_max_gas,
            params.evidence_max_age_blocks,
            params.evidence_max_age_ns,
            params.evidence_max_bytes,
            params.pub_key_types,
            params.app_version,
            params.vote_extensions_enable_height,
        )
    )


def unpack_params(data: bytes) -> ConsensusParams:
    max_bytes, max_gas, age_blocks, age_ns, evidence_bytes, types, version, extensions = _decode(data)
    return ConsensusParams(max_bytes, max_gas, age_blocks, age_ns, evidence_bytes, tuple(types), version, extensions)


def pack_updates(updates: Sequence[ValidatorUpdate]) -> bytes | None:
    return _encode([(update.public_key, update.power) for update in updates]) if updates else None


def unpack_updates(data: bytes | None) -> list[ValidatorUpdate]:
    return [ValidatorUpdate(key, power) for key, power in _decode(data)] if data else []


def event_tags(events: Sequence[Event]) -> set[str]:
    """Every `type.key` that occurs."""
    return {f"{event.type}.{key}" for event in events if event.type for key, _ in event.attributes if key}
