"""Reading contracts and balances through `abci_query`, at one height."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

_SMART = "/cosmwasm.wasm.v1.Query/SmartContractState"
_BALANCES = "/cosmos.bank.v1beta1.Query/AllBalances"
_SUPPLY = "/cosmos.bank.v1beta1.Query/SupplyOf"


class StateReader(Protocol):
    """Whatever answers state queries: one node or several."""

    async def abci_query(self, path: str, data: bytes, height: int = 0) -> bytes:
        """Answer bytes as of the end of `height` (0: newest)."""
        ...


async def smart_query(reader: StateReader, contract: str, query: Any, height: int = 0) -> Any:
    """JSON answer of a contract query as of the end of `height` (0: newest)."""
    path, data = smart_request(contract, query)
    return decode_smart_answer(await reader.abci_query(path, data, height))


def smart_request(contract: str, query: Any) -> tuple[str, bytes]:
    """Path and bytes of a contract query."""
    return _SMART, field(1, contract.encode()) + field(2, msgspec.json.encode(query))


def decode_smart_answer(answer: bytes) -> Any:
    """JSON inside the answer to a contract query."""
    return msgspec.json.decode(members(answer).get(1, [b"null"])[0])


async def all_balances(reader: StateReader, address: str, height: int = 0) -> dict[str, int]:
    """Bank balances of an account by denom as of the end of `height` (0: newest)."""
    # Page limit 1000 in the pagination member: accounts of the protocol hold a handful of denoms.
    request = field(1, address.encode()) + field(2, b"\x18\xe8\x07")
    answer = await reader.abci_query(_BALANCES, request, height)
    balances = {}
    for coin in members(answer).get(1, []):
        parts = members(coin)
        balances[parts[1][0].decode()] = int(parts.get(2, [b"0"])[0])
    return balances


def balances_request(address: str) -> tuple[str, bytes]:
    """Path and bytes of a query for an account's first page of balances."""
    return _BALANCES, field(1, address.encode())


async def supply_of(reader: StateReader, denom: str, height: int = 0) -> int:
    """Total supply of a denom as of the end of `height` (0: newest)."""
    answer = await reader.abci_query(_SUPPLY, field(1, denom.encode()), height)
    coin = members(answer).get(1, [b""])[0]
    return int(members(coin).get(2, [b"0"])[0])


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, data: bytes) -> bytes:
    """A length-delimited member of a protobuf message."""
    if len(data) < 0x80 and number < 0x10:
        return bytes((number << 3 | 2, len(data))) + data
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def members(data: bytes) -> dict[int, list[bytes]]:
    """Length-delimited members of a protobuf message by field number; others are skipped."""
    members: dict[int, list[bytes]] = {}
    position, end = 0, len(data)
    while position < end:
        key = data[position]
        position += 1
        if key > 0x7F:
            key, position = _read_varint(data, position - 1)
        kind = key & 7
        if kind == 2:
            size = data[position]
            position += 1
            if size > 0x7F:
                size, position = _read_varint(data, position - 1)
            members.setdefault(key >> 3, []).append(data[position : position + size])
            position += size
        elif kind == 0:
            _, position = _read_varint(data, position)
        else:
            position += 8 if kind == 1 else 4
    return members
