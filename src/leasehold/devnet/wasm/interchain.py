"""Messages of contracts to interchain accounts and transfers, and the answers the chain gives them.

Only the fields contracts set are here; the chain's interchain modules turn them into packets. Coins are
`{"denom","amount"}`, instants are nanoseconds as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from leasehold.devnet.wasm.contract import BankCoin, ContractError, Interchain

ACCOUNT_ID = "0"
TX_TIMEOUT_SECONDS = 86_400
TRANSFER_PORT = "transfer"
SWAP_RESPONSE_TYPE = "/osmosis.poolmanager.v1beta1.MsgSwapExactAmountInResponse"


def _fee() -> dict[str, Any]:
    return {"recv_fee": [], "ack_fee": [], "timeout_fee": []}


def _token(coin: BankCoin) -> dict[str, str]:
    return {"denom": coin.denom, "amount": str(coin.amount)}


def register_account(connection_id: str) -> Interchain:
    """Open the contract's account on the other side of a connection."""
    fields = {"connection_id": connection_id, "interchain_account_id": ACCOUNT_ID, "register_fee": None}
    return Interchain("register_ica", fields)


def transfer_out(channel: str, coin: BankCoin, sender: str, receiver: str, timeout_ns: int, memo: str) -> Interchain:
    """Send a coin of the contract to an account on the other chain."""
    return Interchain(
        "ibc_transfer",
        {
            "source_port": TRANSFER_PORT,
            "source_channel": channel,
            "token": _token(coin),
            "sender": sender,
            "receiver": receiver,
            "timeout_timestamp": str(timeout_ns),
            "memo": memo,
            "fee": _fee(),
        },
    )


def swap(sender: str, routes: Iterable[tuple[int, str]], token_in: BankCoin, min_out: int) -> dict[str, Any]:
    """A swap through pools, as a message of the remote account; a route is (pool, denom out)."""
    return {
        "swap": {
            "sender": sender,
            "routes": [{"pool_id": pool, "token_out": denom} for pool, denom in routes],
            "token_in": _token(token_in),
            "token_out_min_amount": str(min_out),
        }
    }


def transfer_back(channel: str, coin: BankCoin, sender: str, receiver: str, timeout_ns: int) -> dict[str, Any]:
    """A transfer home, as a message of the remote account."""
    return {
        "transfer": {
            "source_port": TRANSFER_PORT,
            "source_channel": channel,
            "token": _token(coin),
            "sender": sender,
            "receiver": receiver,
            "timeout_timestamp": str(timeout_ns),
            "memo": "",
        }
    }


def submit(connection_id: str, messages: Sequence[dict[str, Any]]) -> Interchain:
    """One transaction of the remote account."""
    return Interchain(
        "submit_tx",
        {
            "connection_id": connection_id,
            "interchain_account_id": ACCOUNT_ID,
            "msgs": list(messages),
            "memo": "memo",
            "timeout": TX_TIMEOUT_SECONDS,
            "fee": _fee(),
        },
    )


def _length_delimited(number: int, value: bytes) -> bytes:
    size, encoded = len(value), bytearray([number << 3 | 2])
    while size > 0x7F:
        encoded.append(size & 0x7F | 0x80)
        size >>= 7
    encoded.append(size)
    return bytes(encoded) + value


def _parts(data: bytes) -> list[tuple[int, bytes]]:
    """Length-delimited fields in order; anything else is refused."""
    parts, position = [], 0
    while position < len(data):
        tag = data[position]
        position += 1
        size = shift = 0
        while tag & 7 == 2 and position < len(data):
            byte = data[position]
            position += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        if tag & 7 != 2 or position + size > len(data):
            raise ContractError("failed to decode Protobuf message")
        parts.append((tag >> 3, data[position : position + size]))
        position += size
    return parts


def swap_response(amounts: Iterable[int]) -> bytes:
    """What the remote account's transaction of swaps answers."""
    answer = b""
    for amount in amounts:
        value = _length_delimited(1, str(amount).encode())
        answer += _length_delimited(2, _length_delimited(1, SWAP_RESPONSE_TYPE.encode()) + _length_delimited(2, value))
    return answer


def swapped(data: bytes) -> list[int]:
    """Amounts paid out by the swaps of a transaction, in order."""
    amounts = []
    for number, answer in _parts(data):
        if number == 2:
            fields = dict(_parts(answer))
            if fields.get(1) != SWAP_RESPONSE_TYPE.encode():
                raise ContractError("an unexpected response of the remote account")
            amounts.append(int(dict(_parts(fields.get(2, b"")))[1]))
    return amounts
