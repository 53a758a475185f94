"""What happens once: the first deposits, proposals and their votes, the end of a protocol."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from leasehold.core.addresses import module_address
from leasehold.devnet.app.context import Context
from leasehold.devnet.genesis.document import TOKEN
from leasehold.devnet.genesis.market import FEEDERS
from leasehold.devnet.genesis.protocols import CAPPED, DEPRECATED, ProtocolSpec
from leasehold.devnet.market.deeds import Action, Deed, Doer
from leasehold.devnet.market.hands import Hand
from leasehold.devnet.market.prices import DAY_SECONDS
from leasehold.devnet.market.savers import ABSTAIN, NO, VETO, YES, propose, vote

if TYPE_CHECKING:
    from leasehold.devnet.market.market import Market

MIN_DEPOSIT = 2_500 * TOKEN
VOTING_SECONDS = DAY_SECONDS
_PART = ("leaser", "lpp", "oracle", "profit", "reserve")
Spread = tuple[int, int, int, int]

# Market-wide crashes: day, hours of the fall, what is left, and over how many days it comes back.
CRASHES = ((33, 3, 0.70, 9), (57, 5, 0.62, 14))
# Seconds between blocks while the market falls and for an hour after.
CRASH_STEP = 600

# Day, title, summary and how the votes are spread over yes, abstain, no and veto.
PROPOSALS = (
    (6, "Raise the voting period", "Give delegators more time to vote.", (8, 1, 2, 0)),
    (15, "Fund the community workshop", "Pay for two workshops from the community pool.", (2, 1, 8, 0)),
    (27, "List a new lease asset", "Signal support for another asset.", (9, 2, 1, 0)),
    (48, "Double the emission", "Mint twice as much.", (1, 0, 2, 8)),
    (66, "Lower the tax on fees", "From 40 to 35 percent.", (7, 3, 2, 0)),
    (81, "A council of lenders", "Let large lenders advise on parameters.", (6, 1, 3, 0)),
)
FAILING_DAY = 38
CAP_DAY = 52
CAP_PERMILLE = 250
END_DAY = 45
CLOSE_DAY = 70


class Agenda:
    """The market's diary."""

    def __init__(self, market: Market) -> None:
        self._market = market

    def doers(self) -> dict[str, Doer]:
        """The kinds of deeds entered here."""
        return {
            "first deposits": self._deposit,
            "first stake": self._stake,
            "propose": self._propose,
            "suggest": self._suggest,
            "vote": self._vote,
            "feed": self._feed,
            "end": self._begin_end,
            "close": self._close,
            "retire": self._retire,
            "take stock": self._take_stock,
            "keep open": self._keep_open,
        }

    def enter(self) -> None:
        """Schedule what happens once on a new chain."""
        market = self._market
        start = market.start
        for index in range(len(market.lenders)):
            market.at(start + 10 + index, Deed("first deposits", (index,)))
        for index in range(len(market.stakers)):
            market.at(start + 60 + index, Deed("first stake", (index, (index + 1) * 20_000 * TOKEN)))
        # From its first minutes on there is something to vote on, and something to put a deposit on.
        market.at(start + 120, Deed("suggest", ("A logo", "Somebody should draw one.")))
        self._proposal(start + 180, "Welcome aboard", "Say hello by voting.", (9, 1, 1, 0))
        for day, title, summary, spread in PROPOSALS:
            self._proposal(start + day * DAY_SECONDS, title, summary, spread)
        self._failing(start + FAILING_DAY * DAY_SECONDS)
        self._capping(start + CAP_DAY * DAY_SECONDS)
        for day, hours, factor, back in CRASHES:
            self._crash(start + day * DAY_SECONDS + 13 * 3600, hours * 3600, factor, back * DAY_SECONDS)
        market.at(start + END_DAY * DAY_SECONDS, Deed("end"))
        market.at(start + CLOSE_DAY * DAY_SECONDS, Deed("close"))

    def _keep_open(self, ctx: Context) -> Action:
        """Near the end of a history: one proposal still gathering its deposit and one at the vote."""
        self._proposal(self._market.now + 90, "Longer unbonding", "From 21 to 28 days.", (5, 1, 3, 0))
        return self._suggest(ctx, "A mascot", "Every chain needs one.")

    def _suggest(self, _: Context, title: str, summary: str) -> Action:
        """A proposal with too small a deposit to go to the vote."""
        hand = self._market.lenders[1].hand
        denom = self._market.scene.app.identity.base_denom
        return hand, [propose(hand, denom, title, summary, MIN_DEPOSIT // 5, [])]

    # First deposits and stakes.

    def _deposit(self, ctx: Context, index: int) -> Action:
        """A lender's share of every pool, in one transaction."""
        lender = self._market.lenders[index]
        messages = [lender.deposit(ctx, spec, self._share(spec, index)) for spec in self._market.active]
        given = [message for message in messages if message is not None]
        return (lender.hand, given) if given else None

    def _share(self, spec: ProtocolSpec, index: int) -> int:
        lenders = len(self._market.lenders)
        return spec.pool * (index + 1) // (lenders * (lenders + 1) // 2)

    def _stake(self, _: Context, index: int, amount: int) -> Action:
        staker = self._market.stakers[index]
        return staker.hand, [staker.delegate(amount)]

    # Proposals.

    def _proposal(self, moment: int, title: str, summary: str, spread: Spread, call: Any = None) -> None:
        """Plan a proposal; `call` is a contract and what governance is to tell it."""
        self._market.at(moment, Deed("propose", (title, summary, spread, call)))

    def _propose(self, ctx: Context, title: str, summary: str, spread: Spread, call: Any) -> Action:
        scene = self._market.scene
        # Never a developer's account: its sequence is the developer's alone.
        hand = self._market.lenders[0].hand
        self._votes(self._next_proposal(ctx), tuple(spread))
        messages = [] if call is None else [self._sudo(*call)]
        return hand, [propose(hand, scene.app.identity.base_denom, title, summary, MIN_DEPOSIT, messages)]

    def _next_proposal(self, ctx: Context) -> int:
        """The number that the chain gives to the next proposal; others make some too."""
        app = self._market.scene.app
        newest = app.registry.new("cosmos.gov.v1.QueryProposalsRequest", pagination={"limit": 1, "reverse": True})
        answer = app.queries.handlers["/cosmos.gov.v1.Query/Proposals"](ctx, newest)
        return 1 + max((one.id for one in answer.proposals), default=0)

    def _votes(self, proposal: int, spread: tuple[int, ...]) -> None:
        market, chance = self._market, self._market.scene.chance
        mood = (YES, ABSTAIN, NO, VETO)[spread.index(max(spread))]
        for index in range(len(self._voters())):
            (option,) = chance.choices((YES, ABSTAIN, NO, VETO), spread)
            # Validators with much stake follow the mood of the room, so that the outcome is the intended one.
            chosen = mood if index < len(market.validators) else option
            when = market.now + 600 + int(chance.random() * (VOTING_SECONDS - 3600))
            market.at(when, Deed("vote", (index, proposal, chosen)))

    def _voters(self) -> list[Hand]:
        return [*self._market.validators, *(staker.hand for staker in self._market.stakers)]

    def _vote(self, _: Context, index: int, proposal: int, option: int) -> Action:
        hand = self._voters()[index]
        return hand, [vote(hand, proposal, option)]

    def _failing(self, moment: int) -> None:
        """A proposal that passes and then can't be carried out: its feeder is registered already."""
        scene = self._market.scene
        oracle = scene.deployment.addresses(self._market.active[0].name).oracle
        message = {"register_feeder": {"feeder_address": scene.named_hand(FEEDERS[0]).address}}
        title, summary = "Register a feeder", "It feeds already, it turns out."
        self._proposal(moment, title, summary, (8, 1, 1, 0), (oracle, message))

    def _capping(self, moment: int) -> None:
        """A pool that from then on takes deposits only while enough of it is lent."""
        pool = self._market.scene.deployment.addresses(CAPPED).lpp
        message = {"min_utilization": {"min_utilization": CAP_PERMILLE}}
        title = f"A minimal utilization for {CAPPED}"
        self._proposal(moment, title, "Idle deposits earn nobody anything.", (7, 1, 2, 0), (pool, message))

    def _sudo(self, contract: str, message: dict[str, Any]) -> Any:
        """A governance call of a contract, packed."""
        app = self._market.scene.app
        gov = app.modules.auth.text(module_address("gov"))
        text = json.dumps(message, separators=(",", ":")).encode()
        return app.registry.pack(
            app.registry.new("cosmwasm.wasm.v1.MsgSudoContract", authority=gov, contract=contract, msg=text)
        )

    def _crash(self, moment: int, seconds: int, factor: float, recovery: int) -> None:
        """The whole market falls, and comes back slowly; blocks come often enough to see it fall."""
        model = self._market.model
        model.script_market(moment, seconds, factor)
        model.script_market(moment + seconds + 6 * 3600, recovery, 1 / factor)
        for when in range(moment, moment + seconds + 3600, CRASH_STEP):
            self._market.at(when, Deed("feed"))

    def _feed(self, _: Context) -> Action:
        self._market.feed_soon()
        return None

    # The end of a protocol.

    def _begin_end(self, _: Context) -> Action:
        self._market.ending.add(DEPRECATED)
        return None

    def _close(self, ctx: Context) -> Action:
        """A vote that closes the deprecated protocol, once its leases are gone."""
        market = self._market
        spec = next((spec for spec in market.active if spec.name == DEPRECATED), None)
        if spec is None:
            return None
        for borrower in market.borrowers:
            if borrower.leases(ctx, spec):
                closing = borrower.manage(ctx, spec, ending=True)
                market.at(market.now + 600, Deed("close"))
                return None if closing is None else (borrower.hand, [closing])
        self._vote_to_close()
        return None

    def _vote_to_close(self) -> None:
        market = self._market
        deployment = market.scene.deployment
        void: dict[str, Any] = {
            "code_id": str(deployment.code_id(DEPRECATED, "void")),
            "migrate_message": {},
            "post_migrate_execute": None,
        }
        message = {"close_protocol": {"migration_spec": dict.fromkeys(_PART, void)}}
        call = (deployment.addresses(DEPRECATED).leaser, message)
        now = market.now
        self._proposal(now + 60, f"Close {DEPRECATED}", "Its bridge is retired.", (9, 1, 0, 0), call)
        # Its oracle takes no prices once it is closed, and a feed of all protocols must not fail with it.
        market.at(now + VOTING_SECONDS - 600, Deed("retire"))
        # By then there has been a block after the vote: what is registered is what remains.
        market.at(now + VOTING_SECONDS + 7200, Deed("take stock"))

    def _retire(self, _: Context) -> Action:
        self._market.retire()
        return None

    def _take_stock(self, ctx: Context) -> Action:
        self._market.take_stock(ctx)
        return None
