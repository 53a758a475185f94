"""Gov's messages, of both versions."""

from __future__ import annotations

import json
from typing import Any

from leasehold.core import fixed_point
from leasehold.core.fixed_point import ONE
from leasehold.devnet.app import coins as coin_lists
from leasehold.devnet.app.coins import coins_text, from_proto
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import INVALID_COINS, INVALID_REQUEST
from leasehold.devnet.app.module import handles
from leasehold.devnet.modules.gov.errors import (
    INACTIVE_PROPOSAL,
    INVALID_CONTENT,
    INVALID_SIGNER,
    INVALID_VOTE,
    METADATA_TOO_LONG,
    NO_HANDLER,
)
from leasehold.devnet.modules.gov.ledger import V1, VOTE, VOTING, number
from leasehold.devnet.modules.gov.proposals import Proposals
from leasehold.devnet.modules.instants import set_instant
from leasehold.devnet.modules.parameter_rules import check_gov
from leasehold.devnet.modules.staking.ledger import sized

BETA = "cosmos.gov.v1beta1."
_CONTENT = BETA + "Content"
_WHOLE = fixed_point.text(ONE)
_OPTIONS = (1, 2, 3, 4)
_MAX_METADATA = 255
_MAX_TITLE, _MAX_DESCRIPTION = 140, 10_000
# Legacy contents a passed proposal can carry out, by the module that would.
_ROUTES = {
    "cosmos.gov.v1beta1.TextProposal": "gov",
    "cosmos.params.v1beta1.ParameterChangeProposal": "params",
    "cosmos.upgrade.v1beta1.SoftwareUpgradeProposal": "upgrade",
    "cosmos.upgrade.v1beta1.CancelSoftwareUpgradeProposal": "upgrade",
    "cosmos.distribution.v1beta1.CommunityPoolSpendProposal": "distribution",
}


class Messages(Proposals):
    """Handlers."""

    @handles(V1 + "MsgSubmitProposal")
    def handle_submit(self, ctx: Context, msg: Any) -> Any:
        proposal_id = self.submit(ctx, msg, validate=False)
        return self.new(V1 + "MsgSubmitProposalResponse", proposal_id=proposal_id)

    @handles(V1 + "MsgSubmitPropWValidation")
    def handle_submit_validated(self, ctx: Context, msg: Any) -> Any:
        proposal_id = self.submit(ctx, msg, validate=True)
        return self.new(V1 + "MsgSubmitPropWValidationResponse", proposal_id=proposal_id)

    @handles(BETA + "MsgSubmitProposal")
    def handle_legacy_submit(self, ctx: Context, msg: Any) -> Any:
        if not msg.content.type_url:
            raise INVALID_CONTENT("missing content")
        content = self.unpacked(msg.content)
        if _CONTENT not in self.registry.message_traits(content.DESCRIPTOR).implements:
            raise INVALID_CONTENT("missing content")
        _check_content(content)
        carried = self.new(V1 + "MsgExecLegacyContent", content=msg.content, authority=self.authority)
        inner = self.new(
            V1 + "MsgSubmitProposal",
            messages=[self.registry.pack(carried)],
            initial_deposit=msg.initial_deposit,
            proposer=msg.proposer,
            title=content.title,
            summary=content.description,
        )
        proposal_id = self.submit(ctx, inner, validate=False)
        return self.new(BETA + "MsgSubmitProposalResponse", proposal_id=proposal_id)

    @handles(V1 + "MsgExecLegacyContent")
    def handle_legacy_content(self, ctx: Context, msg: Any) -> Any:
        if msg.authority != self.authority:
            raise INVALID_SIGNER(f"expected {self.authority} got {msg.authority}")
        name = msg.content.type_url.rpartition("/")[2]
        route = _ROUTES.get(name, name.split(".")[-3] if name.count(".") >= 2 else name)
        if route == "params":
            changes = self.unpacked(msg.content).changes
            shown = f"{changes[0].subspace}: unknown subspace" if changes else "submitted parameter changes are empty"
            raise INVALID_CONTENT(f"failed to run legacy handler params, {shown}")
        if route != "gov":
            raise NO_HANDLER(route)
        return self.new(V1 + "MsgExecLegacyContentResponse")

    @handles(V1 + "MsgCancelProposal")
    def handle_cancel(self, ctx: Context, msg: Any) -> Any:
        self.participants.account(msg.proposer, "invalid proposer address: ")
        self.cancel(ctx, msg.proposal_id, msg.proposer)
        ctx.emit("cancel_proposal", ("sender", msg.proposer), ("proposal_id", str(msg.proposal_id)))
        response = self.new(
            V1 + "MsgCancelProposalResponse", proposal_id=msg.proposal_id, canceled_height=ctx.block.height
        )
        set_instant(response.canceled_time, ctx.block.time_ns)
        return response

    # Deposits.

    @handles(V1 + "MsgDeposit")
    def handle_deposit(self, ctx: Context, msg: Any) -> Any:
        self._deposit(ctx, msg)
        return self.new(V1 + "MsgDepositResponse")

    @handles(BETA + "MsgDeposit")
    def handle_legacy_deposit(self, ctx: Context, msg: Any) -> Any:
        self._deposit(ctx, msg)
        return self.new(BETA + "MsgDepositResponse")

    def _deposit(self, ctx: Context, msg: Any) -> None:
        depositor = self.participants.account(msg.depositor, "invalid depositor address: ")
        coins = from_proto(msg.amount)
        if not coins or not coin_lists.valid(coins):
            raise INVALID_COINS(coins_text(coins))
        if self.deposit(ctx, msg.proposal_id, depositor, coins):
            ctx.emit("proposal_deposit", ("voting_period_start", str(msg.proposal_id)))

    # Votes.

    @handles(V1 + "MsgVote")
    def handle_vote(self, ctx: Context, msg: Any) -> Any:
        self._vote_whole(ctx, msg, msg.metadata)
        return self.new(V1 + "MsgVoteResponse")

    @handles(BETA + "MsgVote")
    def handle_legacy_vote(self, ctx: Context, msg: Any) -> Any:
        self._vote_whole(ctx, msg, "")
        return self.new(BETA + "MsgVoteResponse")

    @handles(V1 + "MsgVoteWeighted")
    def handle_weighted_vote(self, ctx: Context, msg: Any) -> Any:
        self._vote_weighted(ctx, msg, [(choice.option, choice.weight) for choice in msg.options], msg.metadata)
        return self.new(V1 + "MsgVoteWeightedResponse")

    @handles(BETA + "MsgVoteWeighted")
    def handle_legacy_weighted_vote(self, ctx: Context, msg: Any) -> Any:
        choices = [(choice.option, fixed_point.text(int(choice.weight or "0"))) for choice in msg.options]
        self._vote_weighted(ctx, msg, choices, "")
        return self.new(BETA + "MsgVoteWeightedResponse")

    def _vote_whole(self, ctx: Context, msg: Any, metadata: str) -> None:
        voter = self.participants.account(msg.voter, "invalid voter address: ")
        if msg.option not in _OPTIONS:
            raise INVALID_VOTE(self._option_text(msg.option))
        self._record(ctx, msg.proposal_id, voter, [(msg.option, _WHOLE)], metadata)

    def _option_text(self, option: int) -> str:
        return "VOTE_OPTION_UNSPECIFIED" if option == 0 else str(option)

    def _vote_weighted(self, ctx: Context, msg: Any, choices: list[tuple[int, str]], metadata: str) -> None:
        voter = self.participants.account(msg.voter, "invalid voter address: ")
        if not choices:
            raise INVALID_REQUEST("[]")
        total = 0
        seen: set[int] = set()
        for option, weight in choices:
            scaled = self._weight(option, weight)
            total += scaled
            if option in seen:
                raise INVALID_VOTE("duplicated vote option")
            seen.add(option)
        if total > ONE:
            raise INVALID_VOTE("total weight overflow 1.00")
        if total < ONE:
            raise INVALID_VOTE("total weight lower than 1.00")
        self._record(ctx, msg.proposal_id, voter, choices, metadata)

    def _weight(self, option: int, weight: str) -> int:
        try:
            scaled = fixed_point.parse(weight)
        except ValueError:
            scaled = 0
        if scaled <= 0 or scaled > ONE or option not in _OPTIONS:
            named = self.registry.pool.FindEnumTypeByName(V1 + "VoteOption").values_by_number.get(option)
            shown = named.name if named is not None else str(option)
            raise INVALID_VOTE(f'option:{shown} weight:"{weight}" ')
        return scaled

    def _record(
        self, ctx: Context, proposal_id: int, voter: bytes, choices: list[tuple[int, str]], metadata: str
    ) -> None:
        if ctx.store.get(VOTING + number(proposal_id)) is None:
            raise INACTIVE_PROPOSAL(str(proposal_id))
        if len(metadata.encode()) > _MAX_METADATA:
            raise METADATA_TOO_LONG(f"got metadata with length {len(metadata.encode())}")
        text = self.prefixes.account_text(voter)
        vote = self.new(V1 + "Vote", proposal_id=proposal_id, voter=text, metadata=metadata)
        for option, weight in choices:
            vote.options.add(option=option, weight=weight)
        ctx.store.set(VOTE + number(proposal_id) + sized(voter), vote.SerializeToString())
        shown = json.dumps([{"option": option, "weight": weight} for option, weight in choices], separators=(",", ":"))
        ctx.emit("proposal_vote", ("voter", text), ("option", shown), ("proposal_id", str(proposal_id)))

    @handles(V1 + "MsgUpdateParams")
    def handle_update_params(self, ctx: Context, msg: Any) -> Any:
        self.require_authority(msg.authority)
        check_gov(msg.params)
        self.set_params(ctx, msg.params)
        return self.new(V1 + "MsgUpdateParamsResponse")


def _check_content(content: Any) -> None:
    """What every kind of legacy content must have."""
    if not content.title.strip():
        raise INVALID_CONTENT("proposal title cannot be blank")
    if len(content.title.encode()) > _MAX_TITLE:
        raise INVALID_CONTENT(f"proposal title is longer than max length of {_MAX_TITLE}")
    if not content.description:
        raise INVALID_CONTENT("proposal description cannot be blank")
    if len(content.description.encode()) > _MAX_DESCRIPTION:
        raise INVALID_CONTENT(f"proposal description is longer than max length of {_MAX_DESCRIPTION}")
