"""A light client, written from the protocol alone, follows the chain over RPC from the genesis on.

Nothing of the chain's own code is used to verify: hashes, sign bytes and votes are built here from the JSON answers.
"""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from tests.unit.devnet.open_chain import OpenChain, open_chain

from leasehold.core.addresses import encode
from leasehold.devnet.genesis.document import wallet
from leasehold.devnet.rpc.server import RpcServer

PRECOMMIT, COMMIT = 2, 2
POWER_REDUCTION = 1_000_000


class Untrusted(Exception):
    """What the node says does not follow from what is trusted."""


def varint(number: int) -> bytes:
    number &= 2**64 - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value) if value else b""


def blob(field: int, value: bytes, *, always: bool = False) -> bytes:
    return varint(field << 3 | 2) + varint(len(value)) + value if value or always else b""


def fixed(field: int, value: int) -> bytes:
    return varint(field << 3 | 1) + value.to_bytes(8, "little") if value else b""


def instant(text: str) -> bytes:
    whole, _, fraction = text.removesuffix("Z").partition(".")
    seconds = int((datetime.fromisoformat(f"{whole}+00:00") - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
    return number(1, seconds) + number(2, int(fraction.ljust(9, "0")) if fraction else 0)


def root(leaves: list[bytes]) -> bytes:
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return sha256(b"\x00" + leaves[0]).digest()
    split = 1 << (len(leaves) - 1).bit_length() - 1
    return sha256(b"\x01" + root(leaves[:split]) + root(leaves[split:])).digest()


def block_id(value: dict[str, Any]) -> bytes:
    parts = number(1, value["parts"]["total"]) + blob(2, bytes.fromhex(value["parts"]["hash"]))
    return blob(1, bytes.fromhex(value["hash"])) + blob(2, parts, always=True)


def header_hash(header: dict[str, Any]) -> bytes:
    version = number(1, int(header["version"]["block"])) + number(2, int(header["version"].get("app", 0)))
    hashes = (
        "last_commit_hash", "data_hash", "validators_hash", "next_validators_hash", "consensus_hash", "app_hash",
        "last_results_hash", "evidence_hash", "proposer_address",
    )  # fmt: skip
    leaves = [
        version,
        blob(1, header["chain_id"].encode()),
        number(1, int(header["height"])),
        instant(header["time"]),
        block_id(header["last_block_id"]),
        *(blob(1, bytes.fromhex(header[name])) for name in hashes),
    ]
    return root(leaves)


def set_hash(validators: list[dict[str, Any]]) -> bytes:
    return root(
        [
            blob(1, blob(1, b64decode(validator["pub_key"]["value"]))) + number(2, int(validator["voting_power"]))
            for validator in validators
        ]
    )


def sign_bytes(chain_id: str, commit: dict[str, Any], vote: dict[str, Any]) -> bytes:
    body = (
        number(1, PRECOMMIT)
        + fixed(2, int(commit["height"]))
        + fixed(3, int(commit["round"]))
        + blob(4, block_id(commit["block_id"]))
        + blob(5, instant(vote["timestamp"]), always=True)
        + blob(6, chain_id.encode())
    )
    return varint(len(body)) + body


def verify_commit(chain_id: str, commit: dict[str, Any], validators: list[dict[str, Any]]) -> None:
    """More than two thirds of the power of a set must have signed."""
    signed = 0
    for validator, vote in zip(validators, commit["signatures"], strict=True):
        if vote["block_id_flag"] != COMMIT:
            continue
        if vote["validator_address"] != validator["address"]:
            raise Untrusted("a vote of somebody else")
        key = b64decode(validator["pub_key"]["value"])
        if sha256(key).digest()[:20].hex().upper() != validator["address"]:
            raise Untrusted("an address that is not its key's")
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(
                b64decode(vote["signature"]), sign_bytes(chain_id, commit, vote)
            )
        except InvalidSignature:
            raise Untrusted("a signature that is none") from None
        signed += int(validator["voting_power"])
    if 3 * signed <= 2 * sum(int(validator["voting_power"]) for validator in validators):
        raise Untrusted("too few signatures")


def commit_hash(commit: dict[str, Any]) -> bytes:
    return root(
        [
            number(1, vote["block_id_flag"])
            + blob(2, bytes.fromhex(vote["validator_address"]))
            + blob(3, instant(vote["timestamp"]), always=True)
            + blob(4, b64decode(vote["signature"] or ""))
            for vote in commit["signatures"]
        ]
    )


def results_hash(results: list[dict[str, Any]] | None) -> bytes:
    return root(
        [
            number(1, result["code"])
            + blob(2, b64decode(result["data"] or ""))
            + number(5, int(result["gas_wanted"]))
            + number(6, int(result["gas_used"]))
            for result in results or []
        ]
    )


class LightClient:
    """Trusts a genesis and nothing else."""

    def __init__(self, server: RpcServer) -> None:
        self._server = server

    async def ask(self, method: str, **arguments: int) -> Any:
        query = "&".join(f"{name}={value}" for name, value in arguments.items())
        answer = json.loads((await self._server.get(method, query)).body)
        return answer["result"]

    async def genesis_keys(self) -> dict[str, int]:
        """Power by key of those the genesis makes validators."""
        genesis = (await self.ask("genesis"))["genesis"]
        messages = [tx["body"]["messages"][0] for tx in genesis["app_state"]["genutil"]["gen_txs"]]
        return {m["pubkey"]["key"]: int(m["value"]["amount"]) // POWER_REDUCTION for m in messages}

    async def follow(self, last: int) -> list[bytes]:
        """Hashes of the sets of validators from height 1 to `last`, each header verified against the one before."""
        trusted = (await self.ask("validators", height=1))["validators"]
        powers = {validator["pub_key"]["value"]: int(validator["voting_power"]) for validator in trusted}
        if powers != await self.genesis_keys():
            raise Untrusted("other validators than the genesis has")
        sets = []
        previous: dict[str, Any] | None = None
        for height in range(1, last + 1):
            signed = (await self.ask("commit", height=height))["signed_header"]
            header, commit = signed["header"], signed["commit"]
            validators = (await self.ask("validators", height=height))["validators"]
            following = (await self.ask("validators", height=height + 1))["validators"]
            digest = header_hash(header)
            expected = {
                "block id": (digest, bytes.fromhex(commit["block_id"]["hash"])),
                "validators": (set_hash(validators), bytes.fromhex(header["validators_hash"])),
                "next validators": (set_hash(following), bytes.fromhex(header["next_validators_hash"])),
            }
            block = (await self.ask("block", height=height))["block"]
            txs = [sha256(b64decode(tx)).digest() for tx in block["data"]["txs"]]
            expected["data"] = (root(txs), bytes.fromhex(header["data_hash"]))
            if previous is not None:
                results = await self.ask("block_results", height=height - 1)
                before = previous["header"]
                expected |= {
                    "last block": (header_hash(before), bytes.fromhex(header["last_block_id"]["hash"])),
                    "announced set": (bytes.fromhex(before["next_validators_hash"]), set_hash(validators)),
                    "last commit": (commit_hash(block["last_commit"]), bytes.fromhex(header["last_commit_hash"])),
                    "results": (results_hash(results["txs_results"]), bytes.fromhex(header["last_results_hash"])),
                    "app hash": (b64decode(results["app_hash"]), bytes.fromhex(header["app_hash"])),
                }
            for what, (ours, theirs) in expected.items():
                if ours != theirs:
                    raise Untrusted(f"height {height}: {what}")
            verify_commit(header["chain_id"], commit, validators)
            previous = signed
            sets.append(set_hash(validators))
        return sets


def delegated(chain: OpenChain, amount: int) -> bytes:
    """A signed transaction that gives one validator more power."""
    identity = chain.devnet.settings.identity
    operator = wallet("validator-1", identity.prefix, identity.namespace)
    message = chain.devnet.registry.new(
        "cosmos.staking.v1beta1.MsgDelegate",
        delegator_address=chain.sender.address,
        validator_address=encode(f"{identity.prefix}valoper", operator.address_bytes),
        amount={"denom": chain.denom, "amount": str(amount)},
    )
    number, sequence = chain.sequence()
    return chain.sender.sign_direct(
        [message],
        fee={chain.denom: 5_000},
        gas=500_000,
        sequence=sequence,
        account_number=number,
        chain_id=chain.devnet.node.chain_id,
    )


@pytest.fixture(scope="module")
def chain() -> OpenChain:
    """Seven blocks; a delegation in the third changes the validators from the fifth on."""
    chain = open_chain(2)
    node = chain.devnet.node
    for txs in ([delegated(chain, 7_000_000)], [], [], [], []):
        node.seal(node.time_ns + 1_000_000_000, txs)
    return chain


def test_the_chain_is_followed_from_its_genesis_over_a_change_of_validators(chain: OpenChain) -> None:
    """Every header, commit, set, list of transactions and of results follows from the genesis."""

    async def run() -> list[bytes]:
        async with RpcServer(chain.devnet.node, port=0) as server:
            return await LightClient(server).follow(6)

    sets = asyncio.run(run())
    assert len(set(sets[:4])) == 1
    assert sets[4] == sets[5] != sets[3]


@pytest.mark.parametrize("what", ["vote", "header", "power"])
def test_what_was_tampered_with_is_not_believed(chain: OpenChain, what: str) -> None:
    """A changed vote, header or power is found out."""

    class Tampering(LightClient):
        async def ask(self, method: str, **arguments: int) -> Any:
            answer = await super().ask(method, **arguments)
            if method == "commit" and arguments["height"] == 3:
                signed = answer["signed_header"]
                if what == "vote":
                    signed["commit"]["signatures"][0]["timestamp"] = "2030-01-01T00:00:00Z"
                if what == "header":
                    signed["header"]["app_hash"] = "00" * 32
            if what == "power" and method == "validators" and arguments["height"] == 3:
                answer["validators"][0]["voting_power"] = "1"
            return answer

    async def run() -> None:
        async with RpcServer(chain.devnet.node, port=0) as server:
            await Tampering(server).follow(4)

    with pytest.raises(Untrusted):
        asyncio.run(run())
