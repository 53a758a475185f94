"""Messages of contracts to interchain accounts and transfers, and the answers the chain gives them.

Only the fields contracts set are here; the chain's interchain modules turn them into packets. Coins are
`{"denom","amount"}`, instants are nanoseconds as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from leasehold.devnet.wasm import protobuf
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


def swap_response(amounts: Iterable[int]) -> bytes:
    """What the remote account's transaction of swaps answers."""
    answer = b""
    for amount in amounts:
        value = protobuf.field(1, str(amount).encode())
        answer += protobuf.field(2, protobuf.field(1, SWAP_RESPONSE_TYPE.encode()) + protobuf.field(2, value))
    return answer


def swapped(data: bytes) -> list[int]:
    """Amounts paid out by the swaps of a transaction, in order."""
    return [_paid(dict(protobuf.fields(answer))) for number, answer in protobuf.fields(data) if number == 2]


def _paid(answer: dict[int, bytes]) -> int:
    if answer.get(1) != SWAP_RESPONSE_TYPE.encode():
        raise ContractError("an unexpected response of the remote account")
    amount = dict(protobuf.fields(answer.get(2, b""))).get(1, b"")
    if not amount.isdigit():
        raise ContractError("a swap's response without an amount")
    return int(amount)
