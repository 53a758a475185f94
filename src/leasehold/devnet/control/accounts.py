"""Development accounts that act for whoever is in control: real transactions, delivered at once."""

from __future__ import annotations

from dataclasses import dataclass

from leasehold.chain.comet.blocks import tx_hash
from leasehold.core.addresses import Bech32Prefixes, InvalidAddress
from leasehold.core.errors import Conflict, InvalidInput, NotFound, Unavailable
from leasehold.devnet.app.abci import TxResult
from leasehold.devnet.chain import Devnet
from leasehold.devnet.genesis.document import named_accounts, wallet
from leasehold.devnet.market.hands import Hand

GAS = 10_000_000


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivered transaction."""

    hash: str
    height: int
    gas_used: int


class Accounts:
    """The accounts whose keys everybody knows."""

    def __init__(self, devnet: Devnet) -> None:
        self._devnet = devnet

    def bytes_of(self, account: str) -> bytes:
        """Bytes of an account given by an address of this chain or by its name."""
        if account in named_accounts():
            return self.hand(account).wallet.address_bytes
        try:
            return Bech32Prefixes(self._devnet.settings.identity.prefix).account_bytes(account)
        except InvalidAddress as error:
            raise InvalidInput(error.message, field="address") from None

    def text_of(self, account: str) -> str:
        return self._devnet.app.modules.auth.text(self.bytes_of(account))

    def hand(self, name: str) -> Hand:
        """The hand of a development account."""
        if name not in named_accounts():
            known = ", ".join(named_accounts())
            raise NotFound(f"no development account is called {name}", hint=f"there are: {known}")
        identity = self._devnet.settings.identity
        owner = wallet(name, identity.prefix, identity.namespace)
        return Hand(owner, self._devnet.registry, identity.base_denom, self._devnet.node.chain_id)

    def deliver(self, hand: Hand, message: object) -> Delivery:
        """Sign, submit and seal; a refusal is a Conflict with the chain's own words."""
        app, node = self._devnet.app, self._devnet.node
        if len(node.mempool):
            # What the account's owner may have sent on their own comes first.
            node.seal()
        tx = hand.sign(app.context(), app.modules.auth, [message], gas=GAS)
        _require(node.submit(tx))
        sealed = node.seal()
        if tx not in sealed.block.txs:
            raise Unavailable("the transaction did not fit into the block", hint="try again")
        result = sealed.results.tx_results[sealed.block.txs.index(tx)]
        _require(result)
        return Delivery(tx_hash(tx).hex().upper(), sealed.height, result.gas_used)


def _require(result: TxResult) -> None:
    if result.code:
        raise Conflict(f"the transaction was refused: {result.log}")
