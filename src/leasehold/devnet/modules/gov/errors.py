"""Registered errors of the gov module."""

from __future__ import annotations

from leasehold.devnet.app.errors import Kind


def _kind(code: int, description: str) -> Kind:
    return Kind("gov", code, description)


INACTIVE_PROPOSAL = _kind(3, "inactive proposal")
INVALID_CONTENT = _kind(5, "invalid proposal content")
INVALID_TYPE = _kind(6, "invalid proposal type")
INVALID_VOTE = _kind(7, "invalid vote option")
NO_HANDLER = _kind(9, "no handler exists for proposal type")
UNROUTABLE = _kind(10, "proposal message not recognized by router")
NO_MESSAGES = _kind(11, "no messages proposed")
INVALID_MESSAGE = _kind(12, "invalid proposal message")
INVALID_SIGNER = _kind(13, "expected gov account as only signer for proposal message")
METADATA_TOO_LONG = _kind(15, "metadata too long")
DEPOSIT_TOO_SMALL = _kind(16, "minimum deposit is too small")
INVALID_PROPOSER = _kind(18, "invalid proposer")
VOTING_ENDED = _kind(20, "voting period already ended")
INVALID_PROPOSAL = _kind(21, "invalid proposal")
SUMMARY_TOO_LONG = _kind(22, "summary too long")
INVALID_DEPOSIT_DENOM = _kind(23, "invalid deposit denom")
