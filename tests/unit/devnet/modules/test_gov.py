"""Gov: proposals from their deposit to what they do."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.devnet.modules.unsigned_chain import DENOM, UnsignedChain

from leasehold.core.addresses import module_address
from leasehold.devnet.app.pagination import Unfinished, Walk
from leasehold.devnet.modules.gov import tally

MILLION = 1_000_000
V1 = "cosmos.gov.v1."
YES, ABSTAIN, NO, VETO = 1, 2, 3, 4


@pytest.fixture
def chain() -> UnsignedChain:
    """Two validators with sixty and forty per cent of the votes; ann holds a quarter of the first's stake."""
    chain = UnsignedChain("one", "two", "ann", "bob")
    chain.seal(chain.create_validator("one", 45 * MILLION), chain.create_validator("two", 40 * MILLION))
    chain.seal(chain.stake("MsgDelegate", "ann", "one", 15 * MILLION))
    return chain


def proposal(chain: UnsignedChain, *messages: Any, deposit: int = 1000, **fields: Any) -> Any:
    given = {"proposer": chain.account("ann"), "title": "t", "summary": "s", "metadata": "m"} | fields
    packed = [chain.registry.pack(message) for message in messages]
    coins = [chain.coin(deposit)] if deposit else []
    return chain.message(V1 + "MsgSubmitProposal", messages=packed, initial_deposit=coins, **given)


def vote(chain: UnsignedChain, voter: str, option: int, proposal_id: int = 1) -> Any:
    return chain.message(V1 + "MsgVote", proposal_id=proposal_id, voter=chain.account(voter), option=option)


def found(chain: UnsignedChain, proposal_id: int = 1) -> Any:
    return chain.modules.gov.find_proposal(chain.context(), proposal_id)


def from_gov(chain: UnsignedChain, amount: int) -> Any:
    return chain.message(
        "cosmos.bank.v1beta1.MsgSend",
        from_address=chain.modules.gov.authority,
        to_address=chain.account("bob"),
        amount=[chain.coin(amount)],
    )


def test_a_full_deposit_starts_the_vote(chain: UnsignedChain) -> None:
    """Submitting tells the number, then the deposit, then that voting began."""
    outcome = chain.done(proposal(chain, from_gov(chain, 1)))
    kinds = [event.type for event in outcome.events]
    assert kinds[0] == kinds[-1] == "submit_proposal"
    assert outcome.of_type("submit_proposal")[0]["proposal_messages"] == ",/cosmos.bank.v1beta1.MsgSend"
    assert outcome.of_type("submit_proposal")[-1] == {"voting_period_start": "1"}
    assert outcome.response.proposal_id == 1


def test_a_later_deposit_starts_the_vote_too(chain: UnsignedChain) -> None:
    """The missing part may come from anyone."""
    chain.done(proposal(chain, deposit=600))
    assert chain.run(vote(chain, "ann", YES)).log == "1: inactive proposal"
    deposit = chain.message(V1 + "MsgDeposit", proposal_id=1, depositor=chain.account("bob"), amount=[chain.coin(400)])
    assert chain.done(deposit).of_type("proposal_deposit")[-1] == {"voting_period_start": "1"}
    chain.done(vote(chain, "ann", YES))


def test_deposits_must_be_worth_it(chain: UnsignedChain) -> None:
    """A hundredth of the minimum at least, in an accepted denom."""
    assert chain.run(proposal(chain, deposit=9)).log == (
        f"received 9{DENOM} but need at least one of the following: 10{DENOM}: minimum deposit is too small"
    )
    message = proposal(chain)
    message.initial_deposit[0].denom = "other"
    assert chain.run(message).log == (
        f"deposited 1000other, but gov accepts only the following denom(s): [{DENOM}]: invalid deposit denom"
    )


def test_what_passes_is_executed(chain: UnsignedChain) -> None:
    """A passed proposal's messages run as the gov account, and the deposit comes back."""
    chain.done(chain.message("cosmos.bank.v1beta1.MsgSend", from_address=chain.account("ann"),
                             to_address=chain.account("two"), amount=[chain.coin(1)]))  # fmt: skip
    chain.seal(proposal(chain, from_gov(chain, 1000), deposit=1000))
    extra = chain.message(V1 + "MsgDeposit", proposal_id=1, depositor=chain.account("two"), amount=[chain.coin(5000)])
    chain.done(extra)
    chain.done(vote(chain, "one", YES))
    before = chain.balance("bob")
    sealed = chain.seal(seconds=40)
    assert sealed.of_type("active_proposal") == [
        {"proposal_id": "1", "proposal_result": "proposal_failed", "proposal_log": found_log(chain)}
    ]
    assert chain.balance("bob") == before


def found_log(chain: UnsignedChain) -> str:
    reason = f"spendable balance 0{DENOM} is smaller than 1000{DENOM}: insufficient funds"
    assert found(chain).failed_reason == reason
    return f"passed, but msg 0 (/cosmos.bank.v1beta1.MsgSend) failed on execution: {reason}"


def test_parameters_change_by_proposal(chain: UnsignedChain) -> None:
    """A passed change of parameters is in force in the next block."""
    change = chain.message("cosmos.staking.v1beta1.MsgUpdateParams", authority=chain.modules.gov.authority)
    change.params.CopyFrom(chain.modules.staking.params(chain.context()))
    change.params.max_validators = 1
    chain.seal(proposal(chain, change))
    chain.done(vote(chain, "one", YES))
    sealed = chain.seal(seconds=40)
    assert sealed.of_type("active_proposal")[0]["proposal_result"] == "proposal_passed"
    assert (chain.consensus_key("two"), 0) in [(update.public_key, update.power) for update in sealed.updates]


def test_a_delegator_overrides_its_validator(chain: UnsignedChain) -> None:
    """The validator votes with what its voting delegators left."""
    chain.seal(proposal(chain))
    chain.done(vote(chain, "one", YES))
    chain.done(vote(chain, "ann", NO))
    result = chain.ask(V1 + "Query/TallyResult", proposal_id=1).tally
    assert (result.yes_count, result.no_count) == (str(45 * MILLION), str(15 * MILLION))


def test_a_count_in_parts_comes_to_the_same(chain: UnsignedChain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Votes that are asked about are counted some at a time; those that decide are counted in one go."""
    monkeypatch.setattr(tally, "VOTES_AT_ONCE", 1)
    chain.seal(proposal(chain))
    for voter, option in (("one", YES), ("ann", NO), ("two", VETO), ("bob", ABSTAIN)):
        chain.done(vote(chain, voter, option))
    ctx = chain.context()
    whole = chain.modules.gov.queried_tally(ctx, 1)
    assert (whole.yes_count, whole.no_count, whole.no_with_veto_count) == ("45000000", "15000000", "40000000")
    ctx.walk = Walk()
    parts = 0
    while True:
        parts += 1
        try:
            counted = chain.modules.gov.queried_tally(ctx, 1)
        except Unfinished:
            continue
        break
    assert (counted, parts) == (whole, 4)


def test_weighted_votes_are_split(chain: UnsignedChain) -> None:
    """Weights must add up to one; a later vote replaces the earlier."""
    chain.seal(proposal(chain))
    message = chain.message(V1 + "MsgVoteWeighted", proposal_id=1, voter=chain.account("ann"))
    message.options.add(option=YES, weight="0.7")
    assert chain.run(message).log == "total weight lower than 1.00: invalid vote option"
    message.options.add(option=ABSTAIN, weight="0.300000000000000000")
    event = chain.done(message).of_type("proposal_vote")[0]
    assert event["option"] == '[{"option":1,"weight":"0.7"},{"option":2,"weight":"0.300000000000000000"}]'
    result = chain.ask(V1 + "Query/TallyResult", proposal_id=1).tally
    assert (result.yes_count, result.abstain_count) == ("10500000", "4500000")
    message.options.add(option=NO, weight="0.1")
    assert chain.run(message).log == "total weight overflow 1.00: invalid vote option"


@pytest.mark.parametrize(
    ("votes", "result", "refunded"),
    [
        ({}, "proposal_rejected", True),
        ({"ann": YES}, "proposal_rejected", True),
        ({"one": YES, "two": NO}, "proposal_passed", True),
        ({"one": NO, "two": YES}, "proposal_rejected", True),
        ({"one": ABSTAIN, "two": ABSTAIN}, "proposal_rejected", True),
        ({"one": YES, "two": VETO}, "proposal_rejected", False),
    ],
)
def test_the_judgement(chain: UnsignedChain, votes: dict[str, int], result: str, refunded: bool) -> None:
    """Quorum, majority of those who decide, veto: a veto costs the deposit, nothing else does."""
    before = chain.balance("ann")
    chain.seal(proposal(chain))
    for voter, option in votes.items():
        chain.done(vote(chain, voter, option))
    sealed = chain.seal(seconds=40)
    assert sealed.of_type("active_proposal")[0]["proposal_result"] == result
    assert chain.balance("ann") == (before if refunded else before - 1000)
    assert list(chain.modules.gov.votes(chain.context(), 1)) == []


def test_an_expedited_proposal_gets_a_second_chance(chain: UnsignedChain) -> None:
    """Without two thirds it becomes a regular one that keeps its votes out and its deposit in."""
    chain.seal(proposal(chain, deposit=2000, expedited=True))
    chain.done(vote(chain, "one", YES))
    chain.done(vote(chain, "two", NO))
    sealed = chain.seal(seconds=20)
    assert sealed.of_type("active_proposal")[0]["proposal_result"] == "expedited_proposal_rejected"
    assert not found(chain).expedited
    chain.done(vote(chain, "one", YES))
    chain.done(vote(chain, "two", NO))
    assert chain.seal(seconds=20).of_type("active_proposal")[0]["proposal_result"] == "proposal_passed"


def test_an_unpaid_proposal_is_dropped(chain: UnsignedChain) -> None:
    """After the deposit period it is gone and the deposit is back."""
    before = chain.balance("ann")
    chain.seal(proposal(chain, deposit=500))
    sealed = chain.seal(seconds=50)
    assert sealed.of_type("inactive_proposal") == [{"proposal_id": "1", "proposal_result": "proposal_dropped"}]
    assert found(chain) is None
    assert chain.balance("ann") == before


def test_cancelling_costs_half(chain: UnsignedChain) -> None:
    """Only the proposer may; half of each deposit burns."""
    before, supply = chain.balance("ann"), chain.modules.bank.supply(chain.context(), DENOM)
    chain.done(proposal(chain))
    cancel = chain.message(V1 + "MsgCancelProposal", proposal_id=1, proposer=chain.account("bob"))
    assert chain.run(cancel).log == f"invalid proposer {chain.account('bob')}: invalid proposer"
    cancel.proposer = chain.account("ann")
    chain.done(cancel)
    assert found(chain) is None
    assert chain.balance("ann") == before - 500
    assert chain.modules.bank.supply(chain.context(), DENOM) == supply - 500
    assert chain.seal(seconds=60).of_type("active_proposal") == []


def test_only_the_gov_account_may_be_the_signer(chain: UnsignedChain) -> None:
    """A proposal can't act for anyone else."""
    message = from_gov(chain, 1)
    message.from_address = chain.account("bob")
    assert chain.run(proposal(chain, message)).log == (
        f"{chain.account('bob')}: expected gov account as only signer for proposal message"
    )


def test_validation_tries_messages_out(chain: UnsignedChain) -> None:
    """The strict way to submit refuses what would fail now, and leaves no trace of the trial."""
    strict = chain.message(V1 + "MsgSubmitPropWValidation")
    strict.MergeFromString(proposal(chain, from_gov(chain, 1)).SerializeToString())
    assert chain.run(strict).log == (
        f"spendable balance 0{DENOM} is smaller than 1{DENOM}: insufficient funds: invalid proposal content"
    )
    harmless = chain.message("cosmos.bank.v1beta1.MsgUpdateParams", authority=chain.modules.gov.authority)
    strict.ClearField("messages")
    strict.messages.append(chain.registry.pack(harmless))
    chain.done(strict)
    assert chain.modules.bank.params(chain.context()).default_send_enabled


def test_legacy_content_is_carried(chain: UnsignedChain) -> None:
    """An old text proposal becomes a message that does nothing; the old view shows its content."""
    content = chain.message("cosmos.gov.v1beta1.TextProposal", title="old", description="words")
    chain.done(
        chain.message(
            "cosmos.gov.v1beta1.MsgSubmitProposal",
            content=chain.registry.pack(content),
            initial_deposit=[chain.coin(1000)],
            proposer=chain.account("ann"),
        )
    )
    old = chain.ask("cosmos.gov.v1beta1.Query/Proposal", proposal_id=1).proposal
    assert chain.registry.unpack(old.content) == content
    assert (found(chain).title, found(chain).summary) == ("old", "words")
    chain.done(vote(chain, "one", YES))
    assert chain.seal(seconds=40).of_type("active_proposal")[0]["proposal_result"] == "proposal_passed"


def test_metadata_must_not_contradict(chain: UnsignedChain) -> None:
    """Metadata in the usual form repeats title and summary."""
    refused = chain.run(proposal(chain, metadata='{"title":"other","summary":"s"}'))
    assert refused.log == "metadata title 'other' must equal proposal title 't': invalid proposal content"
    chain.done(proposal(chain, metadata='{"title":"t","summary":"s"}'))


def test_users_can_not_set_parameters(chain: UnsignedChain) -> None:
    """Every change of parameters asks for the gov account."""
    message = chain.message("cosmos.gov.v1.MsgUpdateParams", authority=chain.account("ann"))
    gov = chain.prefixes.account_text(module_address("gov"))
    assert chain.run(message).log == (
        f"invalid authority; expected {gov}, got {chain.account('ann')}: "
        "expected gov account as only signer for proposal message"
    )
