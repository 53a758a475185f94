"""The life of a proposal: submitted, paid for, voted on, executed or not."""

from __future__ import annotations

import json
from typing import Any

from leasehold.core.addresses import module_address
from leasehold.devnet.app.coins import from_proto
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import INVALID_REQUEST, ChainError
from leasehold.devnet.modules.gov.deposits import Deposits
from leasehold.devnet.modules.gov.errors import (
    INVALID_CONTENT,
    INVALID_MESSAGE,
    INVALID_PROPOSAL,
    INVALID_PROPOSER,
    INVALID_SIGNER,
    METADATA_TOO_LONG,
    NO_HANDLER,
    NO_MESSAGES,
    SUMMARY_TOO_LONG,
    UNROUTABLE,
    VOTING_ENDED,
)
from leasehold.devnet.modules.gov.ledger import (
    ACTIVE_QUEUE,
    DEPOSIT_PERIOD,
    FAILED,
    INACTIVE_QUEUE,
    PASSED,
    REJECTED,
    V1,
    VOTING_PERIOD,
    number,
)
from leasehold.devnet.modules.gov.tally import Outcome
from leasehold.devnet.modules.instants import duration, instant, set_instant, sortable
from leasehold.devnet.state.gas import WRITE_BYTE

_MAX_METADATA = 255
_MAX_SUMMARY = 40 * _MAX_METADATA
_LEGACY = V1 + "MsgExecLegacyContent"


class Proposals(Deposits):
    """Submitting, cancelling, ending."""

    def submit(self, ctx: Context, msg: Any, *, validate: bool) -> int:
        """Take a proposal in with its first deposit and return its number; `validate` tries every message out."""
        if not msg.title:
            raise INVALID_REQUEST("proposal title cannot be empty")
        if not msg.summary:
            raise INVALID_REQUEST("proposal summary cannot be empty")
        proposer = self.participants.account(msg.proposer, "invalid proposer address: ")
        if not msg.messages and not msg.metadata:
            raise NO_MESSAGES("either metadata or Msgs length must be non-nil")
        _check_metadata(msg)
        deposit = from_proto(msg.initial_deposit)
        self._check_initial_deposit(ctx, deposit, expedited=msg.expedited)
        self._check_denoms(ctx, deposit)
        self._check_lengths(msg)
        self._check_messages(ctx, msg.messages, validate=validate)
        proposal = self._create(ctx, msg)
        ctx.gas.consume(3 * WRITE_BYTE * proposal.ByteSize(), "submit proposal")
        if self.deposit(ctx, proposal.id, proposer, deposit):
            ctx.emit("submit_proposal", ("voting_period_start", str(proposal.id)))
        return int(proposal.id)

    def _check_lengths(self, msg: Any) -> None:
        if len(msg.metadata.encode()) > _MAX_METADATA:
            raise METADATA_TOO_LONG(f"got metadata with length {len(msg.metadata.encode())}")
        if len(msg.summary.encode()) > _MAX_SUMMARY:
            raise SUMMARY_TOO_LONG(f"got summary with length {len(msg.summary.encode())}")
        if len(msg.title.encode()) > _MAX_METADATA:
            # The original calls a title that is too long metadata, too.
            raise METADATA_TOO_LONG(f"got metadata with length {len(msg.title.encode())}")

    def _check_messages(self, ctx: Context, packed: Any, *, validate: bool) -> None:
        trial = ctx.fork()
        for item in packed:
            message = self.unpacked(item)
            name = message.DESCRIPTOR.full_name
            try:
                self.modules.router.check(message)
            except ChainError as error:
                raise INVALID_MESSAGE(error.log) from None
            signers = self.signers_of(message)
            if len(signers) != 1:
                raise ChainError(INVALID_SIGNER)
            if signers[0] != module_address("gov"):
                raise INVALID_SIGNER(self.prefixes.account_text(signers[0]))
            if not self.modules.router.routes(name):
                raise UNROUTABLE(f"/{name}")
            if validate or name == _LEGACY:
                self._try(trial if validate else ctx.fork(), message)

    def _try(self, ctx: Context, message: Any) -> None:
        try:
            self.modules.router.execute(ctx, message)
        except ChainError as error:
            if error.kind == NO_HANDLER:
                raise
            raise INVALID_CONTENT(error.log) from None

    def _create(self, ctx: Context, msg: Any) -> Any:
        proposal = self.new(
            V1 + "Proposal",
            id=self.next_proposal_id(ctx),
            messages=msg.messages,
            status=DEPOSIT_PERIOD,
            metadata=msg.metadata,
            title=msg.title,
            summary=msg.summary,
            proposer=msg.proposer,
            expedited=msg.expedited,
        )
        proposal.final_tally_result.CopyFrom(self.empty_tally())
        end = ctx.block.time_ns + duration(self.params(ctx).max_deposit_period)
        set_instant(proposal.submit_time, ctx.block.time_ns)
        set_instant(proposal.deposit_end_time, end)
        self.save_proposal(ctx, proposal)
        ctx.store.set(INACTIVE_QUEUE + sortable(end) + number(proposal.id), b"")
        ctx.emit(
            "submit_proposal",
            ("proposal_id", str(proposal.id)),
            ("proposal_proposer", msg.proposer),
            ("proposal_messages", "".join(f",{item.type_url}" for item in msg.messages)),
        )
        return proposal

    def empty_tally(self) -> Any:
        return self.new(V1 + "TallyResult", yes_count="0", abstain_count="0", no_count="0", no_with_veto_count="0")

    def cancel(self, ctx: Context, proposal_id: int, proposer: str) -> None:
        """Withdraw a proposal; a part of the deposits is lost."""
        proposal = self.proposal(ctx, proposal_id)
        if not proposal.proposer:
            raise INVALID_PROPOSAL(f"proposal {proposal_id} doesn't have proposer {proposer}, so cannot be canceled")
        if proposal.proposer != proposer:
            raise INVALID_PROPOSER(f"invalid proposer {proposer}")
        if proposal.status not in (DEPOSIT_PERIOD, VOTING_PERIOD):
            raise INVALID_PROPOSAL("proposal should be in the deposit or voting period")
        if proposal.HasField("voting_end_time") and instant(proposal.voting_end_time) < ctx.block.time_ns:
            raise VOTING_ENDED(f"voting period is already ended for this proposal {proposal_id}")
        self._charge(ctx, proposal_id)
        self.drop_votes(ctx, proposal_id)
        self.drop_proposal(ctx, proposal)

    # The end of a period.

    def end_deposit_period(self, ctx: Context, proposal: Any) -> None:
        """Drop a proposal that was not paid for in time."""
        self.drop_proposal(ctx, proposal)
        if self.params(ctx).burn_proposal_deposit_prevote:
            self._burn(ctx, proposal.id)
        else:
            self._refund(ctx, proposal.id)
        ctx.emit("inactive_proposal", ("proposal_id", str(proposal.id)), ("proposal_result", "proposal_dropped"))

    def end_voting_period(self, ctx: Context, proposal: Any) -> None:
        """Count, settle deposits, execute what passed."""
        outcome = self.tally(ctx, proposal)
        self.drop_votes(ctx, proposal.id)
        if outcome.burns:
            self._burn(ctx, proposal.id)
        elif outcome.passes or not proposal.expedited:
            self._refund(ctx, proposal.id)
        ctx.store.delete(ACTIVE_QUEUE + sortable(instant(proposal.voting_end_time)) + number(proposal.id))
        result, log = self._conclude(ctx, proposal, outcome)
        proposal.final_tally_result.CopyFrom(outcome.result)
        self.save_proposal(ctx, proposal)
        ctx.emit(
            "active_proposal",
            ("proposal_id", str(proposal.id)),
            ("proposal_result", result),
            ("proposal_log", log),
        )

    def _conclude(self, ctx: Context, proposal: Any, outcome: Outcome) -> tuple[str, str]:
        if outcome.passes:
            return self._execute(ctx, proposal)
        if not outcome.burns and proposal.expedited:
            proposal.expedited = False
            end = instant(proposal.voting_start_time) + duration(self.params(ctx).voting_period)
            set_instant(proposal.voting_end_time, end)
            ctx.store.set(ACTIVE_QUEUE + sortable(end) + number(proposal.id), b"")
            return "expedited_proposal_rejected", "expedited proposal converted to regular"
        proposal.status = REJECTED
        proposal.failed_reason = "proposal did not get enough votes to pass"
        return "proposal_rejected", "rejected"

    def _execute(self, ctx: Context, proposal: Any) -> tuple[str, str]:
        inner = ctx.fork()
        for index, packed in enumerate(proposal.messages):
            try:
                self.modules.router.execute(inner, self.unpacked(packed))
            except ChainError as error:
                proposal.status = FAILED
                proposal.failed_reason = error.log
                log = f"passed, but msg {index} ({packed.type_url}) failed on execution: {error.log}"
                return "proposal_failed", log
        ctx.join(inner)
        proposal.status = PASSED
        return "proposal_passed", "passed"


def _check_metadata(msg: Any) -> None:
    """Metadata in the recommended form must repeat the proposal's title and summary."""
    try:
        document = json.loads(msg.metadata)
    except ValueError:
        return
    if not isinstance(document, dict):
        return
    title, summary = document.get("title", ""), document.get("summary", "")
    if title != msg.title:
        raise INVALID_CONTENT(f"metadata title '{title}' must equal proposal title '{msg.title}'")
    if summary != msg.summary:
        raise INVALID_CONTENT(f"metadata summary '{summary}' must equal proposal summary '{msg.summary}'")
