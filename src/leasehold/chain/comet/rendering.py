"""Blocks and validators as the RPC's JSON shows them, and back.

64-bit integers are strings, hashes upper-case hex, other bytes base64, times trimmed RFC 3339. All functions are pure.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

from leasehold.chain.comet.blocks import Block, BlockID, Commit, CommitSig, Header
from leasehold.chain.comet.evidence import DuplicateVote, Vote
from leasehold.chain.comet.merkle import Proof
from leasehold.chain.comet.validators import Validator
from leasehold.chain.comet.wire import ZERO_TIME_NS
from leasehold.core.clock import parse_rfc3339, rfc3339
from leasehold.core.errors import InvalidInput

Json = dict[str, Any]
DUPLICATE_VOTE = "tendermint/DuplicateVoteEvidence"

ZERO_TIME = "0001-01-01T00:00:00Z"


def hexadecimal(data: bytes) -> str:
    return data.hex().upper()


def base64(data: bytes) -> str:
    return b64encode(data).decode()


def time(nanoseconds: int) -> str:
    return ZERO_TIME if nanoseconds == ZERO_TIME_NS else rfc3339(nanoseconds)


def block_id(value: BlockID) -> Json:
    return {
        "hash": hexadecimal(value.hash),
        "parts": {"total": value.parts_total, "hash": hexadecimal(value.parts_hash)},
    }


def header(value: Header) -> Json:
    version = {"block": str(value.block_version)}
    if value.app_version:
        version["app"] = str(value.app_version)
    return {
        "version": version,
        "chain_id": value.chain_id,
        "height": str(value.height),
        "time": time(value.time_ns),
        "last_block_id": block_id(value.last_block_id),
        "last_commit_hash": hexadecimal(value.last_commit_hash),
        "data_hash": hexadecimal(value.data_hash),
        "validators_hash": hexadecimal(value.validators_hash),
        "next_validators_hash": hexadecimal(value.next_validators_hash),
        "consensus_hash": hexadecimal(value.consensus_hash),
        "app_hash": hexadecimal(value.app_hash),
        "last_results_hash": hexadecimal(value.last_results_hash),
        "evidence_hash": hexadecimal(value.evidence_hash),
        "proposer_address": hexadecimal(value.proposer_address),
    }


def commit_signature(value: CommitSig) -> Json:
    return {
        "block_id_flag": value.flag,
        "validator_address": hexadecimal(value.address),
        "timestamp": time(value.time_ns),
        "signature": base64(value.signature) if value.signature else None,
    }


def commit(value: Commit) -> Json:
    return {
        "height": str(value.height),
        "round": value.round,
        "block_id": block_id(value.block_id),
        "signatures": [commit_signature(signature) for signature in value.signatures],
    }


def block(value: Block) -> Json:
    return {
        "header": header(value.header),
        "data": {"txs": [base64(tx) for tx in value.txs]},
        "evidence": {"evidence": [evidence(DuplicateVote.decode(item)) for item in value.evidence]},
        "last_commit": commit(value.last_commit),
    }


def evidence(value: DuplicateVote) -> Json:
    return {
        "type": DUPLICATE_VOTE,
        "value": {
            "vote_a": _vote(value.first),
            "vote_b": _vote(value.second),
            "TotalVotingPower": str(value.total_power),
            "ValidatorPower": str(value.power),
            "Timestamp": time(value.time_ns),
        },
    }


def _vote(vote: Vote) -> Json:
    return {
        "type": vote.kind,
        "height": str(vote.height),
        "round": vote.round,
        "block_id": block_id(vote.block_id),
        "timestamp": time(vote.time_ns),
        "validator_address": hexadecimal(vote.address),
        "validator_index": vote.index,
        "signature": base64(vote.signature),
        "extension": None,
        "extension_signature": None,
    }


def public_key(value: bytes) -> Json:
    return {"type": "tendermint/PubKeyEd25519", "value": base64(value)}


def validator(value: Validator) -> Json:
    return {
        "address": hexadecimal(value.address),
        "pub_key": public_key(value.public_key),
        "voting_power": str(value.power),
        "proposer_priority": str(value.priority),
    }


def proof(value: Proof) -> Json:
    return {
        "total": str(value.total),
        "index": str(value.index),
        "leaf_hash": base64(value.leaf),
        "aunts": [base64(aunt) for aunt in value.aunts],
    }


def read_time(text: str) -> int:
    return ZERO_TIME_NS if text == ZERO_TIME else parse_rfc3339(text)


def read_block_id(value: Json) -> BlockID:
    return BlockID(bytes.fromhex(value["hash"]), int(value["parts"]["total"]), bytes.fromhex(value["parts"]["hash"]))


def read_header(value: Json) -> Header:
    return Header(
        chain_id=value["chain_id"],
        height=int(value["height"]),
        time_ns=read_time(value["time"]),
        last_block_id=read_block_id(value["last_block_id"]),
        last_commit_hash=bytes.fromhex(value["last_commit_hash"]),
        data_hash=bytes.fromhex(value["data_hash"]),
        validators_hash=bytes.fromhex(value["validators_hash"]),
        next_validators_hash=bytes.fromhex(value["next_validators_hash"]),
        consensus_hash=bytes.fromhex(value["consensus_hash"]),
        app_hash=bytes.fromhex(value["app_hash"]),
        last_results_hash=bytes.fromhex(value["last_results_hash"]),
        evidence_hash=bytes.fromhex(value["evidence_hash"]),
        proposer_address=bytes.fromhex(value["proposer_address"]),
        app_version=int(value["version"].get("app", "0")),
        block_version=int(value["version"]["block"]),
    )


def read_commit(value: Json) -> Commit:
    return Commit(
        int(value["height"]),
        int(value["round"]),
        read_block_id(value["block_id"]),
        tuple(
            CommitSig(
                int(signature["block_id_flag"]),
                bytes.fromhex(signature["validator_address"]),
                read_time(signature["timestamp"]),
                b64decode(signature["signature"] or ""),
            )
            for signature in value["signatures"]
        ),
    )


def read_block(value: Json) -> Block:
    """A block without evidence, which the JSON of real nodes shows in another form than it was encoded in."""
    return Block(
        read_header(value["header"]),
        tuple(b64decode(tx) for tx in value["data"]["txs"]),
        (),
        read_commit(value["last_commit"]),
    )


def read_validator(value: Json) -> Validator:
    return Validator(
        bytes.fromhex(value["address"]),
        b64decode(value["pub_key"]["value"]),
        int(value["voting_power"]),
        int(value["proposer_priority"]),
    )


def read_evidence(document: Json) -> DuplicateVote:
    """Evidence from the JSON of a request; InvalidInput when members are missing or of the wrong kind."""
    if document.get("type") != DUPLICATE_VOTE:
        raise InvalidInput("only evidence of duplicate votes is taken")
    try:
        value = document["value"]
        return DuplicateVote(
            _read_vote(value["vote_a"]),
            _read_vote(value["vote_b"]),
            int(value["TotalVotingPower"]),
            int(value["ValidatorPower"]),
            read_time(value["Timestamp"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"one or both of the votes are empty or malformed: {error}") from None


def _read_vote(value: Json) -> Vote:
    return Vote(
        int(value["type"]),
        int(value["height"]),
        int(value["round"]),
        read_block_id(value["block_id"]),
        read_time(value["timestamp"]),
        bytes.fromhex(value["validator_address"]),
        int(value["validator_index"]),
        b64decode(value["signature"] or ""),
    )
