"""Proposals and votes: what governance says."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

from leasehold.chain.client import wire
from leasehold.indexer import decode
from leasehold.indexer.chain_events import attribute
from leasehold.indexer.decode import Message
from leasehold.indexer.moment import Moment
from leasehold.indexer.world import ProposalState, World

_OPTIONS = {0: "unspecified", 1: "yes", 2: "abstain", 3: "no", 4: "no_with_veto"}
_RESULTS = {
    "proposal_passed": "passed",
    "proposal_rejected": "rejected",
    "proposal_failed": "failed",
    "proposal_dropped": "dropped",
    "expedited_proposal_rejected": "voting",
}


class Governance:
    """Applies the life of proposals and the votes on them."""

    def __init__(self, world: World) -> None:
        self._world = world

    def proposal(self, moment: Moment, event: wire.Event) -> None:
        """A proposal was submitted, entered voting or ended."""
        text = attribute(event, "proposal_id") or attribute(event, "voting_period_start")
        if not text.isdigit():
            return
        number = int(text)
        known = self._world.proposals.get(number)
        if event.type == "submit_proposal" and known is None:
            known = ProposalState(
                number,
                attribute(event, "proposal_proposer"),
                attribute(event, "proposal_messages"),
                "deposit",
                moment.time,
            )
            self._world.proposals[number] = known
        if known is None:
            return
        if attribute(event, "voting_period_start"):
            known.status, known.voting_at = "voting", moment.time
        elif event.type in ("active_proposal", "inactive_proposal"):
            known.status = _RESULTS.get(attribute(event, "proposal_result"), known.status)
            known.ended_at = None if known.status == "voting" else moment.time
        elif event.type == "cancel_proposal":
            known.status, known.ended_at = "canceled", moment.time
        moment.dirty.proposals[number] = moment.time
        if known.ended_at is not None:
            moment.rows.replace("proposals", known.row(moment.time))
            moment.dirty.proposals.pop(number, None)
            del self._world.proposals[number]

    def voted(self, moment: Moment, message: Message) -> None:
        """An account voted."""
        content = message.content
        number = content.proposal_id
        option, weights = choice(_options(message))
        moment.rows.replace(
            "votes",
            {
                "proposal": number,
                "voter": content.voter,
                "option": option,
                "weights": weights,
                "height": moment.height,
                "time": moment.time,
            },
        )
        known = self._world.proposals.get(number)
        if known is not None:
            known.voters.add(content.voter)
            moment.dirty.proposals[number] = moment.time


def _options(message: Message) -> list[tuple[int, str]]:
    """The options of a vote with their shares as decimals."""
    content = message.content
    if message.type_url in (decode.VOTE, decode.VOTE_LEGACY):
        return [(content.option, "1")]
    # The older form counts a share in 10^-18, the newer one writes it with a decimal point.
    scale = 18 if message.type_url == decode.VOTE_WEIGHTED_LEGACY else 0
    return [(one.option, _decimal(one.weight, scale)) for one in content.options]


def choice(options: Sequence[tuple[int, str]]) -> tuple[str, list[list[str]] | None]:
    """The option voted for; a vote split over several is `weighted`, with the share of each."""
    named = [[_OPTIONS.get(option, str(option)), _decimal(share)] for option, share in options]
    return (named[0][0], None) if len(named) == 1 else ("weighted", named)


def _decimal(text: str, scale: int = 0) -> str:
    """A share as its shortest decimal."""
    try:
        return format(Decimal(text).scaleb(-scale).normalize(), "f")
    except InvalidOperation:
        raise ValueError(f"{text!r} is no share") from None
