"""Which modules make up the chain, and in which order they take part in genesis and blocks."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Protocol

from leasehold.chain.registry import Registry
from leasehold.core.settings import Identity
from leasehold.devnet.app.abci import ConsensusParams
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.module import Module
from leasehold.devnet.modules.auth import Auth
from leasehold.devnet.modules.authz import Authz
from leasehold.devnet.modules.bank import Bank
from leasehold.devnet.modules.consensus_params import ConsensusParameters
from leasehold.devnet.modules.counterparty import Counterparty
from leasehold.devnet.modules.distribution import Distribution
from leasehold.devnet.modules.evidence import Evidence
from leasehold.devnet.modules.feegrant import Feegrant
from leasehold.devnet.modules.gov import Gov
from leasehold.devnet.modules.ibc import Ibc
from leasehold.devnet.modules.interchain import ContractManager, Feerefunder, InterchainTransactions
from leasehold.devnet.modules.interchain_accounts import InterchainAccounts
from leasehold.devnet.modules.mint import Mint
from leasehold.devnet.modules.params import Params
from leasehold.devnet.modules.slashing import Slashing
from leasehold.devnet.modules.staking import Staking
from leasehold.devnet.modules.tax import Tax
from leasehold.devnet.modules.transfer import Transfer
from leasehold.devnet.modules.upgrade import Upgrade
from leasehold.devnet.modules.vestings import Vestings
from leasehold.devnet.modules.wasm import Wasm


class Router(Protocol):
    """Runs messages on behalf of modules that carry them: authz, gov."""

    def execute(self, ctx: Context, message: Any) -> Any:
        """Run a message's handler and return its response; events go to the context."""
        ...

    def check(self, message: Any) -> None:
        """Run a message's stateless check."""
        ...

    def routes(self, name: str) -> bool:
        """Whether a message of this name has a handler."""
        ...

    @property
    def params(self) -> ConsensusParams: ...

    def set_consensus_params(self, ctx: Context, **changes: int) -> None:
        """Change consensus parameters from the next block on."""
        ...


@dataclass(slots=True)
class Modules:
    """Every module by name, in the order in which they were assembled."""

    auth: Auth
    bank: Bank
    tax: Tax
    mint: Mint
    staking: Staking
    distribution: Distribution
    slashing: Slashing
    evidence: Evidence
    gov: Gov
    authz: Authz
    feegrant: Feegrant
    vestings: Vestings
    ibc: Ibc
    transfer: Transfer
    interchain_accounts: InterchainAccounts
    interchain_transactions: InterchainTransactions
    feerefunder: Feerefunder
    contract_manager: ContractManager
    upgrade: Upgrade
    legacy_params: Params
    consensus: ConsensusParameters
    interchain: Counterparty
    wasm: Wasm
    router: Router

    def all(self) -> list[Module]:
        return [value for f in fields(self) if isinstance(value := getattr(self, f.name), Module)]

    def ordered(self, names: tuple[str, ...]) -> list[Module]:
        """Modules in the order of `names`; those not named don't take part."""
        by_name = {module.name: module for module in self.all()}
        return [by_name[name] for name in names if name in by_name]


GENESIS_ORDER = (
    "auth", "bank", "distribution", "staking", "slashing", "gov", "mint", "ibc", "evidence", "transfer",
    "interchainaccounts", "interchaintxs", "contractmanager", "feerefunder", "authz", "feegrant", "vestings", "tax",
    "counterparty", "wasm",
)  # fmt: skip
BEGIN_ORDER = ("mint", "distribution", "slashing", "evidence", "staking", "ibc", "authz", "wasm")
END_ORDER = ("gov", "staking", "feegrant", "ibc", "wasm")


def assemble(identity: Identity, registry: Registry, router: Router) -> Modules:
    """The chain's modules, connected to each other."""
    modules = Modules(
        auth=Auth(identity, registry),
        bank=Bank(identity, registry),
        tax=Tax(identity, registry),
        mint=Mint(identity, registry),
        staking=Staking(identity, registry),
        distribution=Distribution(identity, registry),
        slashing=Slashing(identity, registry),
        evidence=Evidence(identity, registry),
        gov=Gov(identity, registry),
        authz=Authz(identity, registry),
        feegrant=Feegrant(identity, registry),
        vestings=Vestings(identity, registry),
        ibc=Ibc(identity, registry),
        transfer=Transfer(identity, registry),
        interchain_accounts=InterchainAccounts(identity, registry),
        interchain_transactions=InterchainTransactions(identity, registry),
        feerefunder=Feerefunder(identity, registry),
        contract_manager=ContractManager(identity, registry),
        upgrade=Upgrade(identity, registry),
        legacy_params=Params(identity, registry),
        consensus=ConsensusParameters(identity, registry),
        interchain=Counterparty(identity, registry),
        wasm=Wasm(identity, registry),
        router=router,
    )
    for module in modules.all():
        module.connect(modules)
    return modules
