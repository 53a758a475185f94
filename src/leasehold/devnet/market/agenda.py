"""What happens once: the first deposits, proposals and their votes, the end of a protocol."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from leasehold.core.addresses import module_address
from leasehold.devnet.app.context import Context
from leasehold.devnet.genesis.document import TOKEN
from leasehold.devnet.genesis.market import FEEDERS
from leasehold.devnet.genesis.protocols import DEPRECATED, ProtocolSpec
from leasehold.devnet.market.hands import Hand
from leasehold.devnet.market.prices import DAY_SECONDS
from leasehold.devnet.market.savers import ABSTAIN, NO, VETO, YES, Lender, propose, vote

if TYPE_CHECKING:
    from leasehold.devnet.market.market import Market

MIN_DEPOSIT = 2_500 * TOKEN
VOTING_SECONDS = DAY_SECONDS
_PART = ("leaser", "lpp", "oracle", "profit", "reserve")

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
END_DAY = 45
CLOSE_DAY = 70


class Agenda:
    """The market's diary."""

    def __init__(self, market: Market) -> None:
        self._market = market
        self.proposals = 0

    def enter(self) -> None:
        """Schedule what happens once on a new chain."""
        market = self._market
        start = market.start
        for index, lender in enumerate(market.lenders):
            market.at(start + 10 + index, self._first_deposits(lender, index))
        for index, staker in enumerate(market.stakers):
            amount = (index + 1) * 20_000 * TOKEN
            market.at(start + 60 + index, _deed(staker.hand, staker.delegate(amount)))
        for day, title, summary, spread in PROPOSALS:
            self._proposal(start + day * DAY_SECONDS, title, summary, spread)
        self._failing(start + FAILING_DAY * DAY_SECONDS)
        for day, hours, factor, back in CRASHES:
            self._crash(start + day * DAY_SECONDS + 13 * 3600, hours * 3600, factor, back * DAY_SECONDS)
        market.at(start + END_DAY * DAY_SECONDS, self._begin_end)
        self._closing(start + CLOSE_DAY * DAY_SECONDS)

    def keep_open(self, now: int) -> None:
        """Near the end of a history: one proposal still gathering its deposit and one at the vote."""
        hand = self._market.scene.named_hand("erin")
        denom = self._market.scene.app.identity.base_denom
        half = propose(hand, denom, "A mascot", "Every chain needs one.", MIN_DEPOSIT // 5, [])
        self._market.at(now, _deed(hand, half))
        self.proposals += 1
        self._proposal(now + 30, "Longer unbonding", "From 21 to 28 days.", (5, 1, 3, 0), end_seconds=VOTING_SECONDS)

    def _first_deposits(self, lender: Lender, index: int) -> Any:
        """Each lender's share of every pool, in one transaction."""
        specs = self._market.active

        def deposit(ctx: Context) -> tuple[Hand, list[Any]] | None:
            messages = [lender.deposit(ctx, spec, self._share(spec, index)) for spec in specs]
            given = [message for message in messages if message is not None]
            return (lender.hand, given) if given else None

        return deposit

    def _share(self, spec: ProtocolSpec, index: int) -> int:
        weights = [count + 1 for count in range(len(self._market.lenders))]
        return spec.pool * weights[index] // sum(weights)

    # Proposals.

    def _proposal(
        self,
        moment: int,
        title: str,
        summary: str,
        spread: tuple[int, int, int, int],
        messages: list[Any] | None = None,
        end_seconds: int = VOTING_SECONDS,
    ) -> None:
        market = self._market
        hand = market.scene.named_hand("dave")
        denom = market.scene.app.identity.base_denom

        def submit(_: Context) -> tuple[Hand, list[Any]]:
            self.proposals += 1
            self._votes(moment, self.proposals, spread, end_seconds)
            return hand, [propose(hand, denom, title, summary, MIN_DEPOSIT, messages or [])]

        market.at(moment, submit)

    def _votes(self, moment: int, proposal: int, spread: tuple[int, int, int, int], seconds: int) -> None:
        market = self._market
        options = market.scene.chance.choices((YES, ABSTAIN, NO, VETO), spread, k=32)
        voters = [*market.validators, *(staker.hand for staker in market.stakers)]
        for hand, option in zip(voters, options, strict=False):
            # Validators with much stake follow the mood of the room, so that the outcome is the intended one.
            chosen = (YES, ABSTAIN, NO, VETO)[spread.index(max(spread))] if hand in market.validators else option
            when = moment + 600 + int(market.scene.chance.random() * (seconds - 3600))
            market.at(when, _deed(hand, vote(hand, proposal, chosen)))

    def _failing(self, moment: int) -> None:
        """A proposal that passes and then can't be carried out: its feeder is registered already."""
        market = self._market
        oracle = market.scene.deployment.addresses(market.active[0].name).oracle
        feeder = market.scene.named_hand(FEEDERS[0]).address
        message = self._sudo(oracle, {"register_feeder": {"feeder_address": feeder}})
        self._proposal(moment, "Register a feeder", "It feeds already, it turns out.", (8, 1, 1, 0), [message])

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
            self._market.at(when, lambda _: self._market.feed_soon())

    # The end of a protocol.

    def _begin_end(self, _: Context) -> None:
        self._market.ending.add(DEPRECATED)

    def _closing(self, moment: int) -> None:
        """A vote that closes the deprecated protocol, once its leases are gone."""
        market = self._market
        if not any(spec.name == DEPRECATED for spec in market.active):
            return
        deployment = market.scene.deployment
        void: dict[str, Any] = {
            "code_id": str(deployment.code_id(DEPRECATED, "void")),
            "migrate_message": {},
            "post_migrate_execute": None,
        }
        message = {"close_protocol": {"migration_spec": dict.fromkeys(_PART, void)}}

        def submit(ctx: Context) -> tuple[Hand, list[Any]] | None:
            spec = next(spec for spec in market.active if spec.name == DEPRECATED)
            for borrower in market.borrowers:
                if borrower.leases(ctx, spec):
                    closing = borrower.manage(ctx, spec, ending=True)
                    self._closing(market.now + 600)
                    return None if closing is None else (borrower.hand, [closing])
            self._vote_to_close(message)
            return None

        market.at(moment, submit)

    def _vote_to_close(self, message: dict[str, Any]) -> None:
        market = self._market
        sudo = self._sudo(market.scene.deployment.addresses(DEPRECATED).leaser, message)
        now = market.now
        self._proposal(now + 60, f"Close {DEPRECATED}", "Its bridge is retired.", (9, 1, 0, 0), [sudo])
        # Its oracle takes no prices once it is closed, and a feed of all protocols must not fail with it.
        market.at(now + VOTING_SECONDS - 600, lambda _: market.retire())
        # By then there has been a block after the vote: what is registered is what remains.
        market.at(now + VOTING_SECONDS + 7200, lambda ctx: market.take_stock(ctx))


def _deed(hand: Hand, message: Any) -> Callable[[Context], tuple[Hand, list[Any]] | None]:
    return lambda _: (hand, [message])
