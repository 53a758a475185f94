"""Transactions as the projections read them: messages with those nested in authz executions, fee, memo, result.

Nothing here raises on bad bytes: what can't be understood becomes a Misfit with its place, bytes and reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from google.protobuf.message import DecodeError

from leasehold.chain.client import wire
from leasehold.chain.client.blocks import FetchedBlock
from leasehold.chain.registry import MessageType, Registry, UnknownType

SEND = "/cosmos.bank.v1beta1.MsgSend"
MULTI_SEND = "/cosmos.bank.v1beta1.MsgMultiSend"
IBC_TRANSFER = "/ibc.applications.transfer.v1.MsgTransfer"
IBC_RECEIVE = "/ibc.core.channel.v1.MsgRecvPacket"
IBC_ACKNOWLEDGE = "/ibc.core.channel.v1.MsgAcknowledgement"
VOTE = "/cosmos.gov.v1.MsgVote"
VOTE_LEGACY = "/cosmos.gov.v1beta1.MsgVote"
VOTE_WEIGHTED = "/cosmos.gov.v1.MsgVoteWeighted"
VOTE_WEIGHTED_LEGACY = "/cosmos.gov.v1beta1.MsgVoteWeighted"
DELEGATE = "/cosmos.staking.v1beta1.MsgDelegate"
UNDELEGATE = "/cosmos.staking.v1beta1.MsgUndelegate"
REDELEGATE = "/cosmos.staking.v1beta1.MsgBeginRedelegate"
WITHDRAW_REWARD = "/cosmos.distribution.v1beta1.MsgWithdrawDelegatorReward"
EXECUTE = "/cosmwasm.wasm.v1.MsgExecuteContract"
AUTHZ_EXEC = "/cosmos.authz.v1beta1.MsgExec"

# Types whose content somebody reads; others keep their bytes.
READ = frozenset(
    {
        SEND,
        MULTI_SEND,
        IBC_TRANSFER,
        IBC_RECEIVE,
        IBC_ACKNOWLEDGE,
        VOTE,
        VOTE_LEGACY,
        VOTE_WEIGHTED,
        VOTE_WEIGHTED_LEGACY,
        DELEGATE,
        UNDELEGATE,
        REDELEGATE,
        WITHDRAW_REWARD,
        EXECUTE,
        AUTHZ_EXEC,
    }
)
_DEEPEST = 8


@dataclass(slots=True)
class Message:
    """One message: position in the transaction, nested number (0 for outer), type, bytes and, where read, content."""

    message: int
    inner: int
    type_url: str
    value: bytes
    content: Any = None


@dataclass(slots=True)
class Misfit:
    """Something that could not be decoded."""

    tx: int
    part: str
    ordinal: int
    reason: str
    data: bytes


@dataclass(slots=True)
class Tx:
    """One delivered transaction."""

    index: int
    hash: bytes
    code: int
    gas_wanted: int
    gas_used: int
    fee_amount: int
    fee_denom: str | None
    memo: str
    messages: list[Message]
    events: list[wire.Event]


@dataclass(slots=True)
class Block:
    """A block decoded as far as possible."""

    height: int
    time_ns: int
    txs: list[Tx]
    events: list[wire.Event]
    misfits: list[Misfit] = field(default_factory=list)


class Decoder:
    """Decodes blocks of a chain whose protobuf types a registry knows."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._raw = registry.type("cosmos.tx.v1beta1.TxRaw")
        self._body = registry.type("cosmos.tx.v1beta1.TxBody")
        self._auth = registry.type("cosmos.tx.v1beta1.AuthInfo")
        self._types: dict[str, MessageType | None] = {}

    def block(self, fetched: FetchedBlock) -> Block:
        """Everything understood of a block, and misfits for the rest."""
        misfits: list[Misfit] = []
        results = fetched.results.txs_results or []
        txs = [
            self._tx(index, raw, result, misfits)
            for index, (raw, result) in enumerate(zip(fetched.txs, results, strict=True))
        ]
        return Block(fetched.height, fetched.time_ns, txs, fetched.results.finalize_block_events or [], misfits)

    def _tx(self, index: int, raw: bytes, result: wire.TxResult, misfits: list[Misfit]) -> Tx:
        tx = Tx(
            index=index,
            hash=sha256(raw).digest(),
            code=result.code,
            gas_wanted=int(result.gas_wanted),
            gas_used=int(result.gas_used),
            fee_amount=0,
            fee_denom=None,
            memo="",
            messages=[],
            events=result.events or [],
        )
        try:
            envelope: Any = self._raw.FromString(raw)
            body: Any = self._body.FromString(envelope.body_bytes)
            fee = self._auth.FromString(envelope.auth_info_bytes).fee.amount  # type: ignore[attr-defined]
        except DecodeError as error:
            misfits.append(Misfit(index, "tx", 0, f"not a transaction: {error}", raw))
            return tx
        tx.memo = body.memo.replace("\x00", "")
        if fee:
            tx.fee_denom = fee[0].denom
            tx.fee_amount = int(fee[0].amount) if fee[0].amount.isdigit() else 0
        for number, packed in enumerate(body.messages):
            for inner, (type_url, value, content) in enumerate(self._unfold(index, number, packed, misfits)):
                tx.messages.append(Message(number, inner, type_url, value, content))
        return tx

    def _unfold(
        self, tx: int, number: int, packed: Any, misfits: list[Misfit], depth: int = 0
    ) -> Iterator[tuple[str, bytes, Any]]:
        type_url, value = packed.type_url, packed.value
        kind = self._type(type_url)
        if kind is None:
            yield type_url, value, None
            return
        try:
            content: Any = kind.FromString(value)
        except DecodeError as error:
            misfits.append(Misfit(tx, "message", len(misfits), f"not a {type_url}: {error}", value))
            yield type_url, value, None
            return
        yield type_url, value, content
        if type_url == AUTHZ_EXEC and depth < _DEEPEST:
            for nested in content.msgs:
                yield from self._unfold(tx, number, nested, misfits, depth + 1)

    def _type(self, type_url: str) -> MessageType | None:
        if type_url not in self._types:
            found: MessageType | None = None
            if type_url in READ:
                try:
                    found = self._registry.resolve(type_url)
                except UnknownType:
                    found = None
            self._types[type_url] = found
        return self._types[type_url]
