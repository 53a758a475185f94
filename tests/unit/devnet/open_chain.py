"""A development chain in memory for tests of its surfaces, with one account that can send."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from leasehold.chain.wallet import Wallet
from leasehold.core.configuration import load
from leasehold.devnet.chain import Devnet
from leasehold.devnet.genesis.document import wallet

GENESIS_NS = 1_790_000_000_000_000_000
BLOCKS = 4


@dataclass(slots=True)
class OpenChain:
    """The chain and its sender; tests that seal blocks open one of their own."""

    devnet: Devnet
    sender: Wallet

    @property
    def denom(self) -> str:
        return self.devnet.settings.identity.base_denom

    def method(self, path: str) -> Any:
        return self.devnet.registry.method_by_path[path]

    def call(self, path: str, /, at: int = 0, **fields: Any) -> Any:
        """The answer of a gRPC method; failures are raised as the surfaces see them."""
        queries = self.devnet.app.queries
        return queries.call(path, self.method(path).request_type(**fields), queries.resolve(at))

    def sequence(self) -> tuple[int, int]:
        """Account number and sequence of the sender, as committed."""
        app = self.devnet.app
        account = app.modules.auth.get(app.context(), self.sender.address_bytes)
        assert account is not None
        return account.number, account.sequence

    def send(
        self, amount: int, *, sequence: int | None = None, memo: str = "", recipient: bytes | None = None
    ) -> bytes:
        """A signed transaction that sends to oneself, or to another address."""
        number, committed = self.sequence()
        address = self.sender.address
        message = self.devnet.registry.new(
            "cosmos.bank.v1beta1.MsgSend",
            from_address=address,
            to_address=address if recipient is None else self.devnet.app.modules.auth.text(recipient),
            amount=[{"denom": self.denom, "amount": str(amount)}],
        )
        return self.sender.sign_direct(
            [message],
            fee={self.denom: 5_000},
            gas=300_000,
            sequence=committed if sequence is None else sequence,
            account_number=number,
            chain_id=self.devnet.node.chain_id,
            memo=memo,
        )


def open_chain(blocks: int = BLOCKS, folder: Path | None = None) -> OpenChain:
    """A chain of its own with some empty blocks, in memory or in a folder."""
    settings = load(profile="devnet").settings
    devnet = Devnet.open(settings, folder, genesis_time_ns=GENESIS_NS, durable=False)
    for number in range(blocks):
        devnet.node.seal(None if number == 0 else devnet.node.time_ns + 1_000_000_000)
    identity = settings.identity
    return OpenChain(devnet, wallet("alice", identity.prefix, identity.namespace))


@cache
def shared_chain() -> OpenChain:
    """One chain for all tests of this process that only read."""
    return open_chain()
