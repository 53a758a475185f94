"""From blocks to rows: what is stored as it came, what it means, and what it adds up to.

The projector is plain computation on remembered state. Its blocks must come in order; when a write fails, both the
rows and the state are thrown away and loaded again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import zstandard

from leasehold.chain.client import wire
from leasehold.chain.client.blocks import FetchedBlock
from leasehold.indexer import accounts, decode, raw
from leasehold.indexer.chain_events import ChainFacts, attribute, coins
from leasehold.indexer.decode import Block, Misfit, Tx
from leasehold.indexer.feeds import Feeds
from leasehold.indexer.governance import Governance
from leasehold.indexer.histories import Histories
from leasehold.indexer.hours import hours_between, note_hour
from leasehold.indexer.knowledge import LEASER, LPP, PROFIT, RESERVE
from leasehold.indexer.lease_events import Leases
from leasehold.indexer.lease_signals import LeaseSignals
from leasehold.indexer.moment import Dirty, Moment
from leasehold.indexer.pool_events import Pools
from leasehold.indexer.tables import Rows, instant
from leasehold.indexer.world import World
from leasehold.indexer.writer import Batch
from leasehold.protocol import events
from leasehold.protocol.errors import ProtocolError

_PROPOSAL = frozenset(
    {"submit_proposal", "proposal_deposit", "active_proposal", "inactive_proposal", "cancel_proposal"}
)
_REGISTRY_CALLS = frozenset({"register_protocol", "deregister_protocol", "config_leases"})
# Types that carry when they happened; without it they only report progress of a swap.
_DATED = frozenset(
    "wasm-" + kind.type
    for kind in (
        events.Open,
        events.Repay,
        events.ClosePosition,
        events.Liquidation,
        events.Close,
        events.Deposit,
        events.Withdraw,
        events.Rewards,
        events.Profit,
        events.AutoClose,
    )
)
_SETTLEMENTS = frozenset({"wasm-ls-repay", "wasm-ls-close-position", "wasm-ls-liquidation"})


class Projector:
    """Applies blocks to a world and collects the rows they make."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.leases = Leases(world)
        self.signals = LeaseSignals(world)
        self.pools = Pools(world)
        self.chain = ChainFacts(world)
        self.feeds = Feeds(world)
        self.governance = Governance(world)
        self.histories = Histories(world, self.chain, self.governance, self.pools)
        self.strangers = 0
        self._compressor = zstandard.ZstdCompressor(level=1)
        self._rows = Rows()
        self._dirty = Dirty()
        self._first: FetchedBlock | None = None
        self._last: FetchedBlock | None = None
        self._counts = {"blocks": 0, "txs": 0, "events": 0, "quarantined": 0}
        self._handlers: dict[type[events.ProtocolEvent], Callable[[Moment, Any], None]] = {
            events.Repay: self.leases.settled,
            events.ClosePosition: self.leases.settled,
            events.Liquidation: self.leases.settled,
            events.Close: self.leases.finished,
            events.LiquidationWarning: self.signals.warned,
            events.SlippageAnomaly: self.signals.refused_swap,
            events.AutoClose: self.signals.auto_closed,
            events.Deposit: self.pools.deposited,
            events.Withdraw: self.pools.withdrew,
            events.Rewards: self.pools.rewarded,
        }

    def wants_discovery(self, block: Block) -> bool:
        """Whether a block may change which protocols there are or how they are configured."""
        world = self.world
        if world.knowledge.platform is None:
            return any(event.type == "instantiate" for tx in block.txs for event in tx.events)
        for tx in block.txs:
            if tx.code == 0 and any(self._configures(event) for event in tx.events):
                return True
            for message in tx.messages if tx.code == 0 else ():
                if message.type_url == decode.EXECUTE and message.content is not None:
                    contract = message.content.contract
                    if contract in world.configured and not _REGISTRY_CALLS.isdisjoint(
                        accounts.contract_call(message) or ()
                    ):
                        return True
        return any(self._configures(event) for event in block.events)

    def apply(self, fetched: FetchedBlock, block: Block, amounts: Mapping[str, int | None]) -> None:
        """Project the next block; `amounts` has what newly opened leases bought, where it is known."""
        world = self.world
        for hour in hours_between(world.time_ns, block.time_ns):
            note_hour(world, hour, self._rows)
        world.height, world.time_ns = block.height, block.time_ns
        moment = Moment(block.height, block.time_ns, instant(block.time_ns), self._rows, self._dirty)
        fed = self.feeds.take(moment, block)
        count = sum(self._tx(moment, tx, amounts, block.misfits) for tx in block.txs)
        moment.tx, moment.tx_hash = -1, b""
        count += self._events(moment, block.events, amounts, block.misfits)
        for oracle in fed:
            self.feeds.sample(moment, oracle)
        self._keep(moment, fetched, block, count)

    def take(self) -> Batch:
        """Everything since the last take, as one batch to write."""
        assert self._first is not None, "no block was applied"
        assert self._last is not None
        rows, dirty, world, last = self._rows, self._dirty, self.world, self._last
        for lease in sorted(dirty.positions):
            rows.replace("positions", world.positions[lease].row())
        for pool, changed in sorted(dirty.pools.items()):
            rows.replace("pools", world.pools[pool].row(changed))
        for key, changed in sorted(dirty.lenders.items()):
            rows.replace("lenders", world.lenders[key].row(changed))
        for address, denom in sorted(dirty.balances):
            amount = world.balance(address, denom)
            rows.replace("balances", {"address": address, "denom": denom, "amount": amount})
        for number, changed in sorted(dirty.proposals.items()):
            rows.replace("proposals", world.proposals[number].row(changed))
        batch = Batch(
            chain_id=last.chain_id,
            first_height=self._first.height,
            height=last.height,
            hash=last.hash,
            time=instant(last.time_ns),
            time_ns=last.time_ns,
            rows=rows,
            feeds_since_ns=self.feeds.oldest() if "price_feeds" in rows.appended else 0,
            **self._counts,
        )
        self._rows, self._dirty, self._first = Rows(), Dirty(), None
        self._counts = dict.fromkeys(self._counts, 0)
        return batch

    @property
    def pending(self) -> Rows:
        """Rows since the last take, for whoever adds to them."""
        return self._rows

    def _configures(self, event: wire.Event) -> bool:
        return event.type in ("sudo", "migrate") and attribute(event, "_contract_address") in self.world.configured

    def _tx(self, moment: Moment, tx: Tx, amounts: Mapping[str, int | None], misfits: list[Misfit]) -> int:
        moment.tx, moment.tx_hash = tx.index, tx.hash
        moment.rows.append(
            "txs",
            (
                moment.height,
                tx.index,
                tx.hash,
                tx.code,
                tx.gas_wanted,
                tx.gas_used,
                tx.fee_amount,
                tx.fee_denom,
                tx.memo,
                moment.time,
            ),
        )
        opener = self.histories.tx(moment, tx, misfits)
        if tx.code != 0:
            # A failed transaction keeps only what its fee moved.
            for event in tx.events:
                if event.type in ("coin_received", "coin_spent"):
                    self.chain.moved(moment, event)
            return len(tx.events)
        return self._events(moment, tx.events, amounts, misfits, opener)

    def _events(
        self,
        moment: Moment,
        found: list[wire.Event],
        amounts: Mapping[str, int | None],
        misfits: list[Misfit],
        opener: str = "",
    ) -> int:
        for index, event in enumerate(found):
            kind = event.type
            if kind == "coin_received" or kind == "coin_spent":
                self.chain.moved(moment, event)
            elif kind.startswith("wasm"):
                moment.event = index
                try:
                    self._contract_event(moment, event, found, amounts, opener)
                except (ProtocolError, ValueError, KeyError) as error:
                    misfits.append(Misfit(moment.tx, "event", index, f"{kind}: {error!r}", msgspec.json.encode(event)))
            elif kind == "coinbase" or kind == "burn":
                self.chain.issued(moment, event)
            elif kind in _PROPOSAL:
                self.governance.proposal(moment, event)
        return len(found)

    def _contract_event(
        self,
        moment: Moment,
        event: wire.Event,
        siblings: list[wire.Event],
        amounts: Mapping[str, int | None],
        opener: str,
    ) -> None:
        pairs = [(item.key, item.value) for item in event.attributes]
        contract = pairs[0][1] if pairs and pairs[0][0] == events.CONTRACT else ""
        text = msgspec.json.encode(pairs).decode().replace("\\u0000", "")
        moment.rows.append("events", (moment.height, moment.tx, moment.event, event.type, contract, text))
        if event.type in _DATED:
            if not any(key == "height" for key, _ in pairs):
                return
            if event.type in _SETTLEMENTS and not any(key == "change" for key, _ in pairs):
                pairs.append(("change", "0"))
            if event.type == "wasm-tr-profit" and not any(key.startswith("profit-") for key, _ in pairs):
                pairs += self._swept_profit(contract, siblings)
        parsed = events.parse(event.type, pairs)
        if parsed is None:
            return
        _, content = parsed
        if not self._is_genuine(contract, content):
            self.strangers += 1
            return
        if isinstance(content, events.Open):
            self.leases.opened(moment, content, amounts.get(content.id))
        elif isinstance(content, events.RequestLoan):
            self._loan_drawn(moment, content.id, siblings, opener)
        elif isinstance(content, events.Profit):
            self.pools.profited(moment, content, contract)
        elif isinstance(content, events.CoverLoss):
            self.signals.covered(moment, content, self.world.knowledge.of(RESERVE, contract))
        else:
            handler = self._handlers.get(type(content))
            if handler is not None:
                handler(moment, content)

    def _is_genuine(self, contract: str, content: events.ProtocolEvent) -> bool:
        """Whether an event comes from the contract it speaks of: anyone can emit an event under any name."""
        knowledge = self.world.knowledge
        match content:
            case events.Open() | events.Close() | events.RequestLoan():
                return contract == content.id
            case events.Repay() | events.AutoClose():
                return contract == content.to
            case events.LiquidationWarning() | events.SlippageAnomaly():
                return contract == content.lease and contract in self.world.positions
            case events.Deposit():
                return contract == content.to
            case events.Withdraw():
                return contract == content.sender
            case events.Rewards():
                return knowledge.platform is not None and contract == knowledge.platform.treasury
            case events.Profit():
                return knowledge.of(PROFIT, contract) is not None
            case events.CoverLoss():
                return knowledge.of(RESERVE, contract) is not None
            case _:
                return True

    def _loan_drawn(self, moment: Moment, lease: str, siblings: list[wire.Event], opener: str) -> None:
        # The leaser vouches for the lease it made; a contract that merely withdrew from a pool has no such witness.
        vouched = any(
            event.type == "wasm"
            and attribute(event, "lease_address") == lease
            and self.world.knowledge.of(LEASER, attribute(event, "_contract_address")) is not None
            for event in siblings
        )
        for event in siblings if vouched else ():
            if event.type == "transfer" and attribute(event, "recipient") == lease:
                pool = attribute(event, "sender")
                protocol = self.world.knowledge.of(LPP, pool)
                if protocol is None:
                    continue
                loan = sum(a for a, denom in coins(attribute(event, "amount")) if denom == protocol.lpn_denom)
                if loan:
                    self.leases.requested(moment, lease, opener, pool, loan)
                    return

    def _swept_profit(self, contract: str, siblings: list[wire.Event]) -> list[tuple[str, str]]:
        """The newest profit contract emits no amount: it is what the same transaction sent to the treasury."""
        knowledge = self.world.knowledge
        treasury = knowledge.platform.treasury if knowledge.platform else ""
        total = sum(
            amount
            for event in siblings
            if event.type == "transfer"
            and attribute(event, "sender") == contract
            and attribute(event, "recipient") == treasury
            for amount, denom in coins(attribute(event, "amount"))
            if denom == knowledge.native_denom
        )
        return [("profit-amount-amount", str(total)), ("profit-amount-symbol", knowledge.native)]

    def _keep(self, moment: Moment, fetched: FetchedBlock, block: Block, count: int) -> None:
        rows = moment.rows
        rows.append("raw_blocks", (block.height, self._compressor.compress(raw.encode(fetched))))
        rows.append("blocks", (block.height, fetched.hash, moment.time, fetched.proposer, len(block.txs), count))
        for misfit in block.misfits:
            rows.append(
                "quarantine",
                (
                    block.height,
                    misfit.tx,
                    misfit.part,
                    misfit.ordinal,
                    misfit.reason.replace("\x00", ""),
                    misfit.data,
                    moment.time,
                ),
            )
        if self._first is None:
            self._first = fetched
        self._last = fetched
        self._counts["blocks"] += 1
        self._counts["txs"] += len(block.txs)
        self._counts["events"] += count
        self._counts["quarantined"] += len(block.misfits)
