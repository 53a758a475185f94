"""Subscriptions: what is announced about a block, to whom, in which order.

An announcement is encoded once, whoever wants it; a subscriber's frame is that with its own id and query in front.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from leasehold.chain.comet import rendering as comet
from leasehold.chain.comet.blocks import COMMIT, tx_hash
from leasehold.chain.comet.evidence import DuplicateVote
from leasehold.chain.comet.query import MAX_LENGTH, Query, QuerySyntaxError, flatten, parse
from leasehold.chain.comet.votes import PRECOMMIT, PREVOTE, sign_bytes
from leasehold.devnet.app.abci import Event
from leasehold.devnet.consensus.node import MILLISECOND, Node, SealedBlock
from leasehold.devnet.rpc import rendering
from leasehold.devnet.rpc.broadcasting import Failure
from leasehold.devnet.rpc.rendering import encoded

MAX_SUBSCRIPTIONS = 5
MAX_CLIENTS = 100

EXITED = "CometBFT exited"
OUT_OF_CAPACITY = "internal subscription event buffer is out of capacity"


class Subscriber(Protocol):
    """Whoever receives frames; must be hashable by identity."""

    def deliver(self, frame: bytes) -> None:
        """Take a frame, or end the subscriptions when it can't keep up."""
        ...


@dataclass(frozen=True, slots=True)
class Subscription:
    """A query of one client, with the start of every frame it gets."""

    query: Query
    identity: bytes
    head: bytes


@dataclass(slots=True)
class Announcement:
    """Something that happened, with its flattened events; `value` is made only when somebody wants it."""

    # What kind of data it brings; several names may share one.
    kind: str
    tags: dict[str, list[str]]
    value: Callable[[], Any]
    _encoded: bytes = field(default=b"", init=False)

    def encoded(self) -> bytes:
        if not self._encoded:
            data = {"type": f"tendermint/event/{self.kind}", "value": self.value()}
            self._encoded = b'"data":' + encoded(data) + b',"events":' + encoded(self.tags) + b"}}"
        return self._encoded


class Hub:
    """All subscriptions of all clients of one node."""

    def __init__(self, node: Node, *, max_clients: int = MAX_CLIENTS, per_client: int = MAX_SUBSCRIPTIONS) -> None:
        self._node = node
        self._max_clients = max_clients
        self._per_client = per_client
        self._clients: dict[Subscriber, dict[str, Subscription]] = {}
        self.is_muted = False
        node.add_listener(self._sealed)

    def close(self) -> None:
        self._node.remove_listener(self._sealed)

    @property
    def clients(self) -> int:
        return len(self._clients)

    def subscribe(self, client: Subscriber, text: str, identity: bytes) -> None:
        """Begin to send a client what matches; Failure with the original's text when that can't be."""
        own = self._clients.get(client, {})
        if len(self._clients) >= self._max_clients:
            raise Failure(f"max_subscription_clients {self._max_clients} reached")
        if len(own) >= self._per_client:
            raise Failure(f"max_subscriptions_per_client {self._per_client} reached")
        if len(text.encode()) > MAX_LENGTH:
            raise Failure("maximum query length exceeded")
        query = _parsed(text)
        if str(query) in own:
            raise Failure("already subscribed")
        head = b'{"jsonrpc":"2.0","id":' + identity + b',"result":{"query":' + encoded(text) + b","
        self._clients.setdefault(client, own)[str(query)] = Subscription(query, identity, head)

    def unsubscribe(self, client: Subscriber, text: str) -> None:
        query = str(_parsed(text))
        own = self._clients.get(client, {})
        if query not in own:
            raise Failure("subscription not found")
        del own[query]
        if not own:
            del self._clients[client]

    def unsubscribe_all(self, client: Subscriber) -> None:
        if self._clients.pop(client, None) is None:
            raise Failure("subscription not found")

    def drop(self, client: Subscriber) -> list[bytes]:
        """Forget a client; returns the ids of its subscriptions."""
        return [subscription.identity for subscription in self._clients.pop(client, {}).values()]

    def _sealed(self, sealed: SealedBlock) -> None:
        if self._clients and not self.is_muted:
            for announcement in announcements(self._node, sealed):
                self.publish(announcement)

    def publish(self, announcement: Announcement) -> None:
        """Send an announcement to everyone whose query it matches."""
        for client, own in list(self._clients.items()):
            for subscription in list(own.values()):
                if subscription.query.matches(announcement.tags):
                    client.deliver(subscription.head + announcement.encoded())


def _parsed(text: str) -> Query:
    try:
        return parse(text)
    except QuerySyntaxError as error:
        raise Failure(f"failed to parse query: {error}") from None


def announcements(node: Node, sealed: SealedBlock) -> Iterator[Announcement]:
    """Everything announced about a block, in the original's order."""
    yield from _rounds(node, sealed)
    block, results = sealed.block, sealed.results
    tags = _tags(results.events)
    parts = _Parts(sealed)
    yield Announcement("NewBlock", _named(tags, "NewBlock"), lambda: parts.new_block)
    yield Announcement("NewBlockHeader", {"tm.event": ["NewBlockHeader"]}, lambda: {"header": parts.block["header"]})
    yield Announcement("NewBlockEvents", _named(tags, "NewBlockEvents"), lambda: parts.new_block_events)
    for index, (tx, result) in enumerate(zip(block.txs, results.tx_results, strict=True)):
        named = _named(_tags(result.events), "Tx")
        named.setdefault("tx.hash", []).append(comet.hexadecimal(tx_hash(tx)))
        named.setdefault("tx.height", []).append(str(sealed.height))
        yield Announcement("Tx", named, _tx_value(sealed, index))
    for item in block.evidence:
        shown = comet.evidence(DuplicateVote.decode(item))
        yield _plain("NewEvidence", {"evidence": shown, "height": str(sealed.height)})
    if sealed.updates:
        changed = [comet.validator(validator) for validator in sealed.updates]
        yield _plain("ValidatorSetUpdates", {"validator_updates": changed})
    yield _state("NewRoundStep", sealed.height + 1, 0, "RoundStepNewHeight")


class _Parts:
    """Renderings that several announcements of one block share."""

    def __init__(self, sealed: SealedBlock) -> None:
        self._sealed = sealed

    @cached_property
    def block(self) -> dict[str, Any]:
        return comet.block(self._sealed.block)

    @cached_property
    def new_block(self) -> dict[str, Any]:
        return {
            "block": self.block,
            "block_id": comet.block_id(self._sealed.stored.id),
            "result_finalize_block": rendering.finalize_block(self._sealed.results),
        }

    @cached_property
    def new_block_events(self) -> dict[str, Any]:
        return {
            "height": str(self._sealed.height),
            "events": rendering.events(self._sealed.results.events),
            "num_txs": str(len(self._sealed.block.txs)),
        }


def _tags(events: list[Event]) -> dict[str, list[str]]:
    return flatten((event.type, event.attributes) for event in events)


def _named(tags: dict[str, list[str]], name: str) -> dict[str, list[str]]:
    return {**tags, "tm.event": [*tags.get("tm.event", []), name]}


def _tx_value(sealed: SealedBlock, index: int) -> Callable[[], Any]:
    def value() -> Any:
        shown: dict[str, Any] = {"height": str(sealed.height)}
        if index:
            shown["index"] = index
        shown["tx"] = comet.base64(sealed.block.txs[index])
        shown["result"] = rendering.sparse_tx_result(sealed.results.tx_results[index])
        return {"TxResult": shown}

    return value


def _plain(name: str, value: Any) -> Announcement:
    return Announcement(name, {"tm.event": [name]}, lambda: value)


def _rounds(node: Node, sealed: SealedBlock) -> Iterator[Announcement]:
    """The steps of consensus that decided the block: round, proposal and votes of this node's validators."""
    height, round_number = str(sealed.height), sealed.round
    validators = node.store.validators(sealed.height)
    if validators is None:
        return
    proposer = sealed.block.header.proposer_address
    block_id = comet.block_id(sealed.stored.id)

    def at(step: str, **more: Any) -> dict[str, Any]:
        return {"height": height, "round": round_number, "step": step, **more}

    def step(name: str, current: str) -> Announcement:
        return _state(name, sealed.height, round_number, current)

    chosen = {"address": comet.hexadecimal(proposer), "index": validators.index_of(proposer)}
    yield _plain("NewRound", at("RoundStepNewRound", proposer=chosen))
    yield step("NewRoundStep", "RoundStepPropose")
    yield _plain("CompleteProposal", at("RoundStepPropose", block_id=block_id))
    yield step("NewRoundStep", "RoundStepPrevote")
    yield from _votes(node, sealed, PREVOTE)
    for name in ("ValidBlock", "Polka", "Lock"):
        yield step(name, "RoundStepPrevote")
    yield step("NewRoundStep", "RoundStepPrecommit")
    yield from _votes(node, sealed, PRECOMMIT)
    yield step("NewRoundStep", "RoundStepCommit")


def _state(name: str, height: int, round_number: int, step: str) -> Announcement:
    """Where consensus stands, told under one of several names."""
    value = {"height": str(height), "round": round_number, "step": step}
    return Announcement("RoundState", {"tm.event": [name]}, lambda: value)


def _votes(node: Node, sealed: SealedBlock, kind: int) -> Iterator[Announcement]:
    validators = node.store.validators(sealed.height)
    commit = node.seen_commit() if sealed.height == node.height else None
    for index, validator in enumerate(validators.validators if validators else ()):
        if commit is None or commit.signatures[index].flag != COMMIT:
            continue
        time_ns = sealed.block.header.time_ns + MILLISECOND
        yield Announcement(
            "Vote", {"tm.event": ["Vote"]}, _vote_value(node, sealed, kind, index, validator.address, time_ns)
        )


def _vote_value(
    node: Node, sealed: SealedBlock, kind: int, index: int, address: bytes, time_ns: int
) -> Callable[[], Any]:
    def value() -> Any:
        block_id = sealed.stored.id
        signed = sign_bytes(node.chain_id, sealed.height, sealed.round, block_id, time_ns, kind=kind)
        return {
            "Vote": {
                "type": kind,
                "height": str(sealed.height),
                "round": sealed.round,
                "block_id": comet.block_id(block_id),
                "timestamp": comet.time(time_ns),
                "validator_address": comet.hexadecimal(address),
                "validator_index": index,
                "signature": comet.base64(node.keys.sign(address, signed)),
                "extension": None,
                "extension_signature": None,
            }
        }

    return value
