"""The transactions of an account: which messages, from when, in what order."""

from __future__ import annotations

from typing import Annotated

import msgspec

from leasehold.core.errors import InvalidInput
from leasehold.data_api import examples
from leasehold.data_api.conventions import Address, Limit, Skip, moment
from leasehold.data_api.desk import Desk, queries
from leasehold.data_api.index import Listing, Stated
from leasehold.data_api.wallet import TAGS
from leasehold.serving.parameters import Input

MAX_FILTERS = 10
MAX_CONTRACTS = 100
ALL_HEIGHTS = 2**63 - 1
# Kinds of messages as the index numbers them.
TRANSFER, STAKING, VOTE, EARN, POSITION, CONTRACT = range(1, 7)
KINDS = {"transfers": (TRANSFER,), "earn": (EARN,), "staking": (STAKING,), "positions": (POSITION,)}
CALLS = (EARN, POSITION, CONTRACT)
BY_CONTRACT = "positions_ids"
sql = queries("wallet.sql")
ALL = sql.txs.replace("{shown}", sql.shown)
CALLED = sql.txs_called.replace("{shown}", sql.shown)


class Tx(msgspec.Struct):
    """A message of an account; `value` is its protobuf in base64, `code` 0 where its transaction succeeded."""

    index: int
    sender: str = msgspec.field(name="from")
    receiver: str = msgspec.field(name="to")
    type: str
    value: str
    tx_hash: str
    block: int
    fee_amount: str
    fee_denom: str | None
    memo: str
    timestamp: str
    rewards: str | None
    code: int


EXAMPLE = {
    "index": 0,
    "from": examples.ACCOUNT,
    "to": examples.CONTRACT,
    "type": "/cosmwasm.wasm.v1.MsgExecuteContract",
    "value": "CixjaGFpbjFxeXFzenFncHF5cXN6cWdwcXlxc3pxZ3BxeXFzenFncDgzNDR4Zg==",
    "tx_hash": examples.HASH,
    "block": 4711,
    "fee_amount": "2500",
    "fee_denom": "ulsh",
    "memo": "",
    "timestamp": examples.TIME,
    "rewards": None,
    "code": 0,
}


class TxsParams(msgspec.Struct, frozen=True):
    """A page of an account's messages."""

    address: Address
    filter: Annotated[
        str,
        msgspec.Meta(max_length=512),
        Input(about="any of transfers, earn, staking, positions, positions_ids, by comma", example="staking"),
    ] = ""
    to: Annotated[
        str,
        msgspec.Meta(max_length=6800),
        Input(about="an RFC 3339 timestamp that nothing is after, or contracts by comma that were called"),
    ] = ""
    skip: Skip = 0
    limit: Limit = 10


class Choice(msgspec.Struct, frozen=True):
    """Which messages are wanted: all of `kinds`, of `bound` kinds those that call `contracts`, none after `until`."""

    kinds: tuple[int, ...]
    bound: tuple[int, ...] = ()
    contracts: tuple[str, ...] = ()
    until: str | None = None


EVERYTHING = Choice((TRANSFER, STAKING, VOTE, EARN, POSITION, CONTRACT))


def chosen(filters: str, to: str) -> Choice:
    """What `filter` and `to` ask for; several filters add up."""
    if not filters and not to:
        return EVERYTHING
    names = list(dict.fromkeys(name.strip() for name in filters.split(",") if name.strip()))
    if len(names) > MAX_FILTERS:
        raise InvalidInput(f"more than {MAX_FILTERS} filters", field="filter")
    for name in names:
        if name not in KINDS and name != BY_CONTRACT:
            raise InvalidInput(f"unknown filter {name!r}", field="filter")
    kinds = tuple(kind for name in names if name in KINDS for kind in KINDS[name])
    if _is_moment(to):
        if BY_CONTRACT in names:
            raise InvalidInput("positions_ids needs contracts in to", field="to")
        return Choice(kinds or EVERYTHING.kinds, until=to)
    contracts = tuple(dict.fromkeys(part.strip() for part in to.split(",") if part.strip()))
    if len(contracts) > MAX_CONTRACTS:
        raise InvalidInput(f"more than {MAX_CONTRACTS} contracts", field="to")
    if BY_CONTRACT in names:
        if not contracts:
            raise InvalidInput("positions_ids needs contracts in to", field="to")
        return Choice(kinds, tuple(kind for kind in CALLS if kind not in kinds), contracts)
    if contracts:
        return Choice((), kinds or CALLS, contracts)
    return Choice(kinds or EVERYTHING.kinds)


def _is_moment(text: str) -> bool:
    try:
        moment(text)
    except ValueError:
        return False
    return True


def declare(desk: Desk) -> None:
    """Declare `txs`."""
    listing, called = Listing("txs", Tx, ALL), Listing("txs", Tx, CALLED)

    async def txs(params: TxsParams) -> Stated:
        account = desk.account(params.address)
        choice = chosen(params.filter, params.to)
        for contract in choice.contracts:
            desk.prefixes.account_bytes(contract, field="to")
        height = ALL_HEIGHTS
        if choice.until is not None:
            height = await desk.index.value(sql.height_at, moment(choice.until)) or 0
        page = (account, params.skip, params.limit, choice.kinds, height)
        if not choice.bound:
            return await desk.index.array(listing, *page)
        # Nobody is a contract that calls itself; looking for that would go through everything an account did.
        contracts = [contract for contract in choice.contracts if contract != account]
        return await desk.index.array(called, *page, choice.bound, contracts)

    desk.live(
        "/api/txs",
        TxsParams,
        txs,
        summary="Transactions of an account, newest first",
        tags=TAGS,
        response=list[Tx],
        examples={"example": [EXAMPLE]},
    )
