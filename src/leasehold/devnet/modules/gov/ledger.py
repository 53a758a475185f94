"""Gov's records: proposals and their queues, deposits, votes, parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leasehold.chain.registry import Registry
from leasehold.core.addresses import module_address
from leasehold.core.settings import Identity
from leasehold.devnet.app.coins import Coins, from_proto
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import undefined
from leasehold.devnet.app.module import Module
from leasehold.devnet.modules.gov.errors import INVALID_SIGNER
from leasehold.devnet.modules.instants import instant, sortable
from leasehold.devnet.modules.participants import Participants
from leasehold.devnet.modules.staking.ledger import sized
from leasehold.devnet.state.store import prefix_end

V1 = "cosmos.gov.v1."
PARAMS = b"gov/params"
CONSTITUTION = b"gov/constitution"
NEXT = b"gov/next"
PROPOSAL = b"gov/p/"
VOTING = b"gov/vp/"
DEPOSIT = b"gov/d/"
VOTE = b"gov/v/"
INACTIVE_QUEUE = b"gov/qi/"
ACTIVE_QUEUE = b"gov/qa/"

DEPOSIT_PERIOD, VOTING_PERIOD, PASSED, REJECTED, FAILED = 1, 2, 3, 4, 5


def number(value: int) -> bytes:
    return value.to_bytes(8, "big")


class Ledger(Module):
    """Reads and writes of gov's records."""

    name = "gov"

    def __init__(self, identity: Identity, registry: Registry) -> None:
        super().__init__(identity, registry)
        self.participants = Participants(self.prefixes)
        self.authority = self.prefixes.account_text(module_address("gov"))

    def require_authority(self, text: str) -> None:
        """Refuse a message that only a passed proposal may carry."""
        if text != self.authority:
            raise INVALID_SIGNER(f"invalid authority; expected {self.authority}, got {text}")

    def params(self, ctx: Context) -> Any:
        return self.read(ctx, PARAMS, V1 + "Params")

    def set_params(self, ctx: Context, params: Any) -> None:
        ctx.store.set(PARAMS, params.SerializeToString())

    def find_proposal(self, ctx: Context, proposal_id: int) -> Any:
        data = ctx.store.get(PROPOSAL + number(proposal_id))
        return None if data is None else self.registry.parse(V1 + "Proposal", data)

    def proposal(self, ctx: Context, proposal_id: int) -> Any:
        found = self.find_proposal(ctx, proposal_id)
        if found is None:
            raise undefined(
                f"collections: not found: key '{proposal_id}' of type github.com/cosmos/gogoproto/{V1}Proposal"
            )
        return found

    def save_proposal(self, ctx: Context, proposal: Any) -> None:
        key = number(proposal.id)
        ctx.store.set(PROPOSAL + key, proposal.SerializeToString())
        if proposal.status == VOTING_PERIOD:
            ctx.store.set(VOTING + key, b"")
        else:
            ctx.store.delete(VOTING + key)

    def drop_proposal(self, ctx: Context, proposal: Any) -> None:
        key = number(proposal.id)
        ctx.store.delete(INACTIVE_QUEUE + sortable(instant(proposal.deposit_end_time)) + key)
        if proposal.HasField("voting_end_time"):
            ctx.store.delete(ACTIVE_QUEUE + sortable(instant(proposal.voting_end_time)) + key)
        ctx.store.delete(VOTING + key)
        ctx.store.delete(PROPOSAL + key)

    def next_proposal_id(self, ctx: Context) -> int:
        proposal_id = int(ctx.store.get(NEXT) or b"1")
        ctx.store.set(NEXT, str(proposal_id + 1).encode())
        return proposal_id

    def due(self, ctx: Context, queue: bytes) -> list[Any]:
        """Proposals whose time in a queue is over, in order."""
        end = queue + sortable(ctx.block.time_ns + 1)
        return [self.proposal(ctx, int.from_bytes(key[-8:], "big")) for key, _ in list(ctx.store.iterate(queue, end))]

    # Deposits.

    def find_deposit(self, ctx: Context, proposal_id: int, depositor: bytes) -> Any:
        data = ctx.store.get(DEPOSIT + number(proposal_id) + sized(depositor))
        return None if data is None else self.registry.parse(V1 + "Deposit", data)

    def save_deposit(self, ctx: Context, depositor: bytes, deposit: Any) -> None:
        key = DEPOSIT + number(deposit.proposal_id) + sized(depositor)
        ctx.store.set(key, deposit.SerializeToString())

    def take_deposits(self, ctx: Context, proposal_id: int) -> Iterator[tuple[bytes, Coins]]:
        """Depositors and their coins by address, each forgotten as it is given."""
        prefix = DEPOSIT + number(proposal_id)
        kind: Any = self.registry.type(V1 + "Deposit")
        for key, data in list(ctx.store.iterate(prefix, prefix_end(prefix))):
            ctx.store.delete(key)
            yield key[len(prefix) + 1 :], from_proto(kind.FromString(data).amount)

    # Votes.

    def find_vote(self, ctx: Context, proposal_id: int, voter: bytes) -> Any:
        data = ctx.store.get(VOTE + number(proposal_id) + sized(voter))
        return None if data is None else self.registry.parse(V1 + "Vote", data)

    def votes(self, ctx: Context, proposal_id: int, after: bytes | None = None) -> Iterator[tuple[bytes, Any]]:
        """Voters and votes of a proposal by address, those `after` a voter or all."""
        prefix = VOTE + number(proposal_id)
        kind: Any = self.registry.type(V1 + "Vote")
        start = prefix if after is None else prefix + sized(after) + b"\x00"
        for key, data in ctx.store.iterate(start, prefix_end(prefix)):
            yield key[len(prefix) + 1 :], kind.FromString(data)

    def drop_votes(self, ctx: Context, proposal_id: int) -> None:
        for voter, _ in list(self.votes(ctx, proposal_id)):
            ctx.store.delete(VOTE + number(proposal_id) + sized(voter))
