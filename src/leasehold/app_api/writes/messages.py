"""Unsigned messages in proto-JSON, as the chain and the contracts accept them.

Members stand in alphabetical order, as clients of the public system get them. What the client fills in is an empty
text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

EXECUTE = "/cosmwasm.wasm.v1.MsgExecuteContract"
DELEGATE = "/cosmos.staking.v1beta1.MsgDelegate"
UNDELEGATE = "/cosmos.staking.v1beta1.MsgUndelegate"
REDELEGATE = "/cosmos.staking.v1beta1.MsgBeginRedelegate"
CLAIM = "/cosmos.distribution.v1beta1.MsgWithdrawDelegatorReward"
VOTE = "/cosmos.gov.v1.MsgVote"
OPTIONS = {
    "yes": "VOTE_OPTION_YES",
    "abstain": "VOTE_OPTION_ABSTAIN",
    "no": "VOTE_OPTION_NO",
    "no_with_veto": "VOTE_OPTION_NO_WITH_VETO",
}
BLANK = ""
# Who signs a message stands in one of these members.
SIGNERS = ("sender", "delegator_address", "voter")

Message = dict[str, Any]

DEPOSIT: dict[str, Any] = {"deposit": []}
REPAY: dict[str, Any] = {"repay": []}
FULL_CLOSE: dict[str, Any] = {"close_position": {"full_close": {}}}


def coin(amount: str, denom: str) -> dict[str, str]:
    return {"amount": amount, "denom": denom}


def execute(contract: str, msg: dict[str, Any], funds: Sequence[dict[str, str]] = ()) -> Message:
    """A call of a contract."""
    return {"@type": EXECUTE, "contract": contract, "funds": list(funds), "msg": msg, "sender": BLANK}


def burn(amount: str) -> dict[str, Any]:
    """Give receipts of a pool back; its contract wants a coin without a ticker."""
    return {"burn": {"amount": {"amount": amount}}}


def claim_lender_rewards(recipient: str | None) -> dict[str, Any]:
    return {"claim_rewards": {"other_recipient": recipient}}


def open_lease(ticker: str, max_ltd: int | None) -> dict[str, Any]:
    """`ticker` is the asset to lease; `max_ltd` the loan wanted per down-payment, permille."""
    return {"open_lease": {"currency": ticker, "max_ltd": max_ltd}}


def partial_close(amount: str, ticker: str) -> dict[str, Any]:
    return {"close_position": {"partial_close": {"amount": {"amount": amount, "ticker": ticker}}}}


def staking(kind: str, validator: str, amount: str, denom: str) -> Message:
    """A delegation or its withdrawal."""
    return {
        "@type": kind,
        "amount": coin(amount, denom),
        "delegator_address": BLANK,
        "validator_address": validator,
    }


def redelegate(source: str, target: str, amount: str, denom: str) -> Message:
    return {
        "@type": REDELEGATE,
        "amount": coin(amount, denom),
        "delegator_address": BLANK,
        "validator_dst_address": target,
        "validator_src_address": source,
    }


def claim(validator: str) -> Message:
    """Withdrawal of the rewards of one delegation."""
    return {"@type": CLAIM, "delegator_address": BLANK, "validator_address": validator}


def vote(proposal: str, option: str) -> Message:
    """A vote with all its weight; `option` is a key of OPTIONS."""
    return {"@type": VOTE, "metadata": "", "option": OPTIONS[option], "proposal_id": proposal, "voter": BLANK}


def signed_by(message: Message, sender: str) -> Message:
    """The message with its signer filled in."""
    return {name: sender if name in SIGNERS else value for name, value in message.items()}
