"""How the development chain begins: who is there, with what, and which protocols are deployed."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from leasehold.chain.wallet import Wallet
from leasehold.core.clock import NANOSECONDS
from leasehold.core.configuration import load
from leasehold.core.settings import Settings
from leasehold.devnet.chain import Devnet
from leasehold.devnet.consensus.keys import ValidatorKeys
from leasehold.devnet.genesis.deployment import PARTS, Deployment
from leasehold.devnet.genesis.document import GRANTS, VALIDATORS, address, named_accounts
from leasehold.devnet.genesis.market import actor_names, market_genesis
from leasehold.devnet.genesis.protocols import DEPRECATED, PROTOCOLS

START_NS = 1_767_225_600 * NANOSECONDS


@pytest.fixture(scope="module")
def devnet() -> Iterator[Devnet]:
    opened = Devnet.open(Settings(), None, genesis_time_ns=START_NS)
    opened.node.seal()
    yield opened
    opened.close()


def _ask(devnet: Devnet, contract: str, query: object) -> object:
    return json.loads(devnet.app.modules.wasm.query_smart(devnet.app.context(), contract, json.dumps(query).encode()))


def test_the_same_settings_give_the_same_document() -> None:
    """Nothing about genesis is left to chance."""
    settings = Settings()
    keys = ValidatorKeys.derive(settings.devnet.seed, len(VALIDATORS))
    made = [market_genesis(Deployment(settings.identity), keys=keys, time_ns=START_NS) for _ in range(2)]
    assert made[0] == made[1]


def test_development_accounts_belong_to_their_words_and_are_funded(devnet: Devnet) -> None:
    """The printed mnemonics open the accounts, and each has native and foreign coins."""
    identity = devnet.settings.identity
    bank, ctx = devnet.app.modules.bank, devnet.app.context()
    for account in named_accounts().values():
        owner = Wallet.from_mnemonic(account.mnemonic, prefix=identity.prefix, types=devnet.registry)
        assert owner.address == address(identity, account.name)
        assert account.about
        held = dict(bank.balances(ctx, owner.address_bytes))
        assert held[identity.base_denom] > 0 or account.name in VALIDATORS
        assert len(held) > 10


def test_every_protocol_is_registered_where_it_was_foretold(devnet: Devnet) -> None:
    """Long and short ones on each of three networks, one of them on its way out; addresses as derived."""
    admin = devnet.deployment.platform["admin"]
    assert sorted(_ask(devnet, admin, {"protocols": {}})) == sorted(spec.name for spec in PROTOCOLS)  # type: ignore[call-overload]
    assert len(PROTOCOLS) >= 7
    sides = {(spec.network.key, spec.is_long) for spec in PROTOCOLS}
    assert sides == {(key, is_long) for key in ("OSMOSIS", "NEUTRON", "SOLANA") for is_long in (True, False)}
    assert DEPRECATED in {spec.name for spec in PROTOCOLS}
    for spec in PROTOCOLS:
        answer = _ask(devnet, admin, {"protocol": spec.name})
        at = devnet.deployment.addresses(spec.name)
        assert isinstance(answer, dict)
        assert answer["contracts"] == {part: getattr(at, part) for part in PARTS}
        assert answer["network"].upper() == spec.network.key


def test_every_kind_of_vesting_account_is_there(devnet: Devnet) -> None:
    """Circulating supply has something to compute."""
    auth, ctx = devnet.app.modules.auth, devnet.app.context()
    kinds = {
        account.kind.name
        for key, _ in devnet.app.state.head.iterate(b"auth/a/", b"auth/a0")
        if (account := auth.get(ctx, key[len(b"auth/a/") :])) is not None and account.vesting is not None
    }
    assert kinds == {grant.kind.upper() for grant in GRANTS}


def test_all_validators_are_bonded_and_sign(devnet: Devnet) -> None:
    """The set that seals blocks is the one genesis bonded."""
    devnet.node.seal(devnet.node.time_ns + NANOSECONDS)
    commit = devnet.node.seen_commit()
    assert commit is not None
    assert len(commit.signatures) == len(VALIDATORS)


def test_the_market_has_its_actors(devnet: Devnet) -> None:
    """Borrowers, lenders and stakers are many and no two share a name."""
    names = actor_names()
    assert len(set(names)) == len(names) > 80


def test_the_public_identity_gives_the_same_chain_under_other_names() -> None:
    """Under the profile of the public identity prefix, denom and namespace change, the protocols stay."""
    settings = load(profile="devnet-nolus", environment={}, flags={}).settings
    opened = Devnet.open(settings, None, genesis_time_ns=START_NS)
    opened.node.seal()
    admin = opened.deployment.platform["admin"]
    assert admin.startswith("nolus1")
    assert len(_ask(opened, admin, {"protocols": {}})) == len(PROTOCOLS)  # type: ignore[arg-type]
    assert opened.app.modules.bank.supply(opened.app.context(), "unls") > 0
    opened.close()
