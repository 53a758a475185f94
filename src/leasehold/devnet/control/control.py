"""What can be done to a development chain from outside of it; the same for Python, HTTP and the command line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leasehold.core.clock import NANOSECONDS, rfc3339
from leasehold.core.errors import Conflict, InvalidInput, LeaseholdError, NotFound, Unavailable
from leasehold.devnet.app.coins import Coin
from leasehold.devnet.app.context import Context
from leasehold.devnet.chain import Devnet
from leasehold.devnet.consensus.node import SealedBlock
from leasehold.devnet.consensus.sealing import Sealer
from leasehold.devnet.control.accounts import Accounts, Delivery
from leasehold.devnet.control.assets import Assets
from leasehold.devnet.control.clock import DevnetClock
from leasehold.devnet.control.dumps import Dumps
from leasehold.devnet.control.faults import Faults, Surfaces
from leasehold.devnet.genesis.deployment import PARTS
from leasehold.devnet.market.live import LiveMarket
from leasehold.devnet.market.relay import Fault
from leasehold.devnet.market.standing import MarketState
from leasehold.devnet.wasm.failures import ModuleFailure

MOST_BLOCKS = 100_000
MOST_SNAPSHOTS = 64
LONGEST_SECONDS = 100 * 365 * 86_400
# An oracle averages over the last minutes: so many feeds, so many seconds apart, make a new price the price.
SETTLING_FEEDS, SETTLING_SECONDS = 14, 50
# Balances are set through this module account, which may mint and burn.
_MINT = "transfer"
_SLICE = 50


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A moment to go back to."""

    id: str
    height: int
    clock_ns: int
    waiting: tuple[bytes, ...]
    market: MarketState | None


@dataclass(slots=True)
class Control:
    """Control over an open chain, its sealer, its clock and its market; `folder` is where dumps may be kept."""

    devnet: Devnet
    sealer: Sealer
    clock: DevnetClock
    live: LiveMarket | None = None
    folder: Path | None = None
    surfaces: Surfaces = field(default_factory=Surfaces)
    faults: Faults = field(init=False)
    dumps: Dumps = field(init=False)
    assets: Assets = field(init=False)
    accounts: Accounts = field(init=False)
    _snapshots: dict[str, Snapshot] = field(default_factory=dict, init=False)
    _taken: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.faults = Faults(self.devnet, self.surfaces)
        self.dumps = Dumps(self.devnet, self.folder)
        self.assets = Assets(self.devnet.settings.identity)
        self.accounts = Accounts(self.devnet)

    # Blocks and time.

    def mine(self, blocks: int = 1, interval_seconds: int | None = None) -> SealedBlock:
        """Seal blocks now, so many seconds of chain time apart, or as the clock goes; returns the last."""
        _check_mining(blocks, interval_seconds)
        sealed = self._seal(interval_seconds)
        for _ in range(blocks - 1):
            sealed = self._seal(interval_seconds)
        return sealed

    async def mine_politely(self, blocks: int = 1, interval_seconds: int | None = None) -> int:
        """As `mine`, letting others have their turn meanwhile; returns the height reached."""
        _check_mining(blocks, interval_seconds)
        for start in range(0, blocks, _SLICE):
            self.mine(min(_SLICE, blocks - start), interval_seconds)
            await asyncio.sleep(0)
        return self.devnet.node.height

    def _seal(self, interval_seconds: int | None) -> SealedBlock:
        node = self.devnet.node
        if interval_seconds is None or node.height == 0:
            return node.seal()
        moment = node.time_ns + interval_seconds * NANOSECONDS
        # The clock goes on from there, or blocks sealed by it would stand still until it catches up.
        self.clock.not_before(moment)
        return node.seal(moment)

    def advance(self, seconds: int) -> SealedBlock:
        """Move the clock forward and seal a block there."""
        if not 1 <= seconds <= LONGEST_SECONDS:
            raise InvalidInput("time goes forward, a hundred years at most; a snapshot takes it back", field="seconds")
        self.clock.not_before(self.devnet.node.time_ns)
        self.clock.advance(seconds)
        return self.devnet.node.seal()

    def set_time(self, now_ns: int) -> SealedBlock:
        """Say what time it is, no earlier than the last block, and seal a block there."""
        if now_ns <= self.devnet.node.time_ns:
            last = rfc3339(self.devnet.node.time_ns, digits="seconds")
            raise InvalidInput(f"the chain is at {last}; a snapshot takes it back", field="time")
        self.clock.set(now_ns)
        return self.devnet.node.seal()

    def pause(self) -> None:
        """Seal nothing until resumed, except what is asked for here."""
        self.sealer.pause()

    def resume(self) -> None:
        self.sealer.resume()

    # Money.

    def fund(self, account: str, coins: Sequence[str]) -> Delivery:
        """Send coins from the faucet in a transaction of its own, and seal the block that delivers it.

        An account is an address of this chain or the name of a development account.
        """
        to = self.accounts.text_of(account)
        amounts: dict[str, int] = {}
        for text in coins:
            denom, amount = self.assets.coin(text)
            amounts[denom] = amounts.get(denom, 0) + amount
        if not amounts or not all(amounts.values()):
            raise InvalidInput("give at least one coin, none of them zero", field="coins")
        hand = self.accounts.hand("faucet")
        paid = [{"denom": denom, "amount": str(amount)} for denom, amount in sorted(amounts.items())]
        message = hand.message("cosmos.bank.v1beta1.MsgSend", from_address=hand.address, to_address=to, amount=paid)
        return self.accounts.deliver(hand, message)

    def set_balance(self, account: str, coin: str) -> int:
        """Make an account hold exactly this much of a coin, minting or burning the difference; returns the height."""
        owner = self.accounts.bytes_of(account)
        denom, amount = self.assets.coin(coin)
        self.devnet.app.before_next_block(lambda ctx: self._change(ctx, owner, denom, amount))
        return self.devnet.node.seal().height

    def _change(self, ctx: Context, owner: bytes, denom: str, amount: int) -> None:
        bank, auth = self.devnet.app.modules.bank, self.devnet.app.modules.auth
        held = bank.balance(ctx, owner, denom)
        mint = auth.module_account(ctx, _MINT)
        if amount > held:
            more = (Coin(denom, amount - held),)
            bank.mint(ctx, _MINT, more)
            bank.send(ctx, mint, owner, more)
        elif amount < held:
            less = (Coin(denom, held - amount),)
            bank.send(ctx, owner, mint, less)
            bank.burn(ctx, _MINT, less)

    # Contracts.

    def contracts(self) -> dict[str, str]:
        """Addresses of the contracts by name: `treasury`, `OSMOSIS-OSMOSIS-USDC_NOBLE/leaser` and so on."""
        deployment = self.devnet.deployment
        found = dict(deployment.platform)
        for spec in deployment.protocols:
            at = deployment.addresses(spec.name)
            found.update((f"{spec.name}/{part}", getattr(at, part)) for part in PARTS)
        return found

    def execute(self, account: str, contract: str, message: Any, coins: Sequence[str] = ()) -> Delivery:
        """Call a contract, by address or name, as a development account, and seal the block that delivers it."""
        hand = self.accounts.hand(account)
        funds = dict(map(self.assets.coin, coins))
        return self.accounts.deliver(hand, hand.execute(self._contract(contract), message, funds))

    def query(self, contract: str, message: Any) -> Any:
        """A contract's answer at the last block."""
        app = self.devnet.app
        try:
            answer = app.modules.wasm.query_smart(app.context(), self._contract(contract), json.dumps(message).encode())
        except ModuleFailure as error:
            raise Conflict(f"the contract refused: {error}") from None
        return json.loads(answer)

    def _contract(self, name: str) -> str:
        return self.contracts().get(name, name)

    # Prices.

    def set_price(self, ticker: str, usd: float, *, settle: bool = False) -> dict[str, float]:
        """Make the market's price what is said; feeders carry it to the oracles, which average over minutes.

        `settle` seals blocks ahead until the oracles have taken the new price over. Returns all prices.
        """
        market = self._market().market
        if ticker not in market.model.tickers:
            known = ", ".join(market.model.tickers)
            raise NotFound(f"no asset is called {ticker}", hint=f"there are: {known}")
        if not 1e-9 <= usd <= 1e9:
            raise InvalidInput("a price is between a billionth of a dollar and a billion", field="usd")
        market.model.set_price(ticker, usd)
        market.feed_soon()
        for _ in range(SETTLING_FEEDS if settle else 0):
            self._seal(SETTLING_SECONDS)
            market.model.set_price(ticker, usd)
            market.feed_soon()
        return market.model.prices()

    def _market(self) -> LiveMarket:
        if self.live is None:
            raise Unavailable("this chain has no market", hint="set devnet.market to true")
        return self.live

    def fail_next_packet(self, kind: str, outcome: str) -> None:
        """Let the next packet of a kind (transfer or tx) to a DEX end in an error or a timeout."""
        if kind not in ("transfer", "tx") or outcome not in ("error", "timeout"):
            raise InvalidInput("a packet is a transfer or a tx, and ends in an error or a timeout", field="packet")
        self._market().market.relayer.faults.append(Fault(kind, outcome))

    # Going back.

    def snapshot(self) -> Snapshot:
        """Remember this moment: state, blocks, mempool, clock and market."""
        node = self.devnet.node
        if node.height == 0:
            raise Conflict("there is no block yet to come back to", hint="seal one first")
        if len(self._snapshots) >= MOST_SNAPSHOTS:
            raise Conflict(f"{MOST_SNAPSHOTS} snapshots are kept already", hint="revert to one, or forget some")
        self._taken += 1
        taken = Snapshot(
            id=f"s{self._taken}",
            height=node.height,
            clock_ns=self.clock.now_ns(),
            waiting=tuple(node.mempool.first(len(node.mempool))),
            market=self.live.market.state() if self.live is not None else None,
        )
        self._snapshots[taken.id] = taken
        self._pin()
        return taken

    @property
    def snapshots(self) -> list[Snapshot]:
        return list(self._snapshots.values())

    def revert(self, id_: str) -> Snapshot:
        """Go back to a snapshot; it stays, so that one can go back again, and later ones are gone."""
        wanted = self._find(id_)
        node = self.devnet.node
        with node.store.transaction():
            node.revert(wanted.height)
            self.devnet.app.revert(wanted.height)
        self.clock.set(wanted.clock_ns)
        if self.live is not None and wanted.market is not None:
            self.live.stand(wanted.market)
        for tx in wanted.waiting:
            node.submit(tx)
        for later in list(self._snapshots)[list(self._snapshots).index(id_) + 1 :]:
            del self._snapshots[later]
        self._pin()
        return wanted

    def forget(self, id_: str) -> None:
        """Forget a snapshot."""
        del self._snapshots[self._find(id_).id]
        self._pin()

    def _find(self, id_: str) -> Snapshot:
        try:
            return self._snapshots[id_]
        except KeyError:
            known = ", ".join(self._snapshots) or "none"
            raise NotFound(f"no snapshot is called {id_}", hint=f"there are: {known}") from None

    def _pin(self) -> None:
        heights = [snapshot.height for snapshot in self._snapshots.values()]
        self.devnet.app.state.pinned = min(heights, default=None)

    # Dumps.

    def dump(self, name: str) -> int:
        """Put the chain aside under a name; returns the size in bytes."""
        if self.live is not None:
            self.live.note()
        return self.dumps.save(name, self.clock.now_ns())

    def load(self, name: str) -> int:
        """Take up a chain that was put aside; returns its height. Snapshots and faults end."""
        self.faults.clear()
        self.clock.set(self.dumps.load(name))
        self._snapshots.clear()
        self._pin()
        if self.live is not None:
            try:
                self.live.restart()
            except LeaseholdError as error:
                raise Unavailable(f"the market could not be taken up again: {error.message}") from None
        return self.devnet.node.height


def _check_mining(blocks: int, interval_seconds: int | None) -> None:
    if not 1 <= blocks <= MOST_BLOCKS:
        raise InvalidInput(f"from 1 to {MOST_BLOCKS} blocks can be sealed at once", field="blocks")
    if interval_seconds is not None and not 1 <= interval_seconds <= LONGEST_SECONDS:
        raise InvalidInput("blocks are a second to a hundred years apart", field="interval_seconds")
