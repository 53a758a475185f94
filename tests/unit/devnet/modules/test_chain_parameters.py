"""Parameters of the whole chain: consensus limits, upgrades, the old subspaces, interchain modules."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.devnet.modules.unsigned_chain import UnsignedChain

from leasehold.devnet.app.errors import ChainError, StatusError


@pytest.fixture
def chain() -> UnsignedChain:
    chain = UnsignedChain("ann")
    chain.seal()
    return chain


def test_consensus_limits_change_by_governance(chain: UnsignedChain) -> None:
    """Only the gov account sets them, and only to something sensible."""
    message = chain.message("cosmos.consensus.v1.MsgUpdateParams", authority=chain.account("ann"))
    assert "expected gov account" in chain.run(message).log
    message.authority = chain.modules.gov.authority
    assert chain.run(message).log == "all parameters must be present: invalid request"
    message.block.max_bytes, message.block.max_gas = 1000, 500
    message.evidence.max_age_num_blocks = 7
    message.evidence.max_age_duration.seconds = 9
    message.validator.pub_key_types.append("ed25519")
    chain.done(message)
    shown = chain.ask("cosmos.consensus.v1.Query/Params").params
    assert (shown.block.max_bytes, shown.block.max_gas) == (1000, 500)
    assert shown.evidence.max_age_duration.seconds == 9


def test_an_upgrade_is_planned_and_cancelled(chain: UnsignedChain) -> None:
    """A plan is shown until it is cancelled; one in the past is refused."""
    plan = chain.message("cosmos.upgrade.v1beta1.MsgSoftwareUpgrade", authority=chain.modules.gov.authority)
    plan.plan.name, plan.plan.height = "v2", 100
    chain.done(plan)
    assert chain.ask("cosmos.upgrade.v1beta1.Query/CurrentPlan").plan.name == "v2"
    chain.done(chain.message("cosmos.upgrade.v1beta1.MsgCancelUpgrade", authority=chain.modules.gov.authority))
    assert not chain.ask("cosmos.upgrade.v1beta1.Query/CurrentPlan").HasField("plan")
    plan.plan.height = 0
    assert chain.run(plan).log == "height must be greater than 0: invalid request"


def test_module_versions_are_listed(chain: UnsignedChain) -> None:
    """All of them, or one by name."""
    path = "cosmos.upgrade.v1beta1.Query/ModuleVersions"
    names = [entry.name for entry in chain.ask(path).module_versions]
    assert names == sorted(names)
    assert chain.ask(path, module_name="bank").module_versions[0].version == 4
    with pytest.raises(ChainError, match="module nosuch not found"):
        chain.ask(path, module_name="nosuch")


def test_old_subspaces_are_empty_or_unknown(chain: UnsignedChain) -> None:
    """Known ones hold nothing any more; others don't exist."""
    path = "cosmos.params.v1beta1.Query/Params"
    assert chain.ask(path, subspace="staking", key="MaxValidators").param.value == ""
    with pytest.raises(ChainError, match="baseapp: unknown subspace"):
        chain.ask(path, subspace="baseapp", key="BlockParams")


def test_interchain_modules_have_parameters(chain: UnsignedChain) -> None:
    """A genesis that names none gives the usual ones."""
    assert chain.ask("leasehold.feerefunder.Query/Params").params.min_fee.ack_fee[0].amount == "1"
    assert chain.ask("leasehold.interchaintxs.v1.Query/Params").params.msg_submit_tx_max_messages == 16
    assert chain.ask("leasehold.contractmanager.Query/Params").params.sudo_call_gas_limit == 1_000_000
    assert list(chain.ask("leasehold.contractmanager.Query/Failures").failures) == []
    with pytest.raises(StatusError, match="failed to parse address: bad"):
        chain.ask("leasehold.contractmanager.Query/AddressFailures", address="bad")
    with pytest.raises(ChainError, match="no fee info found"):
        chain.ask("leasehold.feerefunder.Query/FeeInfo")


@pytest.mark.parametrize(
    ("module", "member", "value", "log"),
    [
        ("staking", "max_validators", 0, "max validators must be positive: 0"),
        ("staking", "bond_denom", " ", "bond denom cannot be blank"),
        ("distribution", "community_tax", "2" + "0" * 18, "community tax too large: 2.000000000000000000"),
        ("gov", "quorum", "1.5", "quorom too large: 1.500000000000000000"),
        ("gov", "threshold", "x", "invalid threshold string: failed to set decimal string: x"),
    ],
)
def test_senseless_parameters_are_refused(
    chain: UnsignedChain, module: str, member: str, value: object, log: str
) -> None:
    """Governance can't set what would stop the chain."""
    package = f"cosmos.{module}.v1" + ("" if module == "gov" else "beta1")
    message = chain.message(package + ".MsgUpdateParams", authority=chain.modules.gov.authority)
    message.params.CopyFrom(getattr(chain.modules, module).params(chain.context()))
    setattr(message.params, member, value)
    assert chain.run(message).log == log


def test_interchain_messages_are_for_contracts(chain: UnsignedChain) -> None:
    """A user's message to act on another chain is refused with the module's own code."""
    name = "leasehold.interchaintxs.v1.MsgSubmitTx"
    message = chain.message(name, from_address=chain.account("ann"), connection_id="connection-0")
    assert chain.run(message).log == "failed to validate MsgSubmitTx: empty interchain account id"
    message.interchain_account_id = "dex"
    message.msgs.append(chain.registry.pack(chain.message("cosmos.bank.v1beta1.MsgSend")))
    message.timeout = 5
    outcome = chain.run(message)
    assert outcome.log == f"{chain.account('ann')} is not a contract address: not a contract"
    assert outcome.error is not None
    assert (outcome.error.kind.codespace, outcome.error.kind.code) == ("interchaintxs", 1103)


def test_interchain_parameters_have_their_own_refusal(chain: UnsignedChain) -> None:
    """A stranger gets an invalid request here, not governance's error."""
    message = chain.message("leasehold.contractmanager.MsgUpdateParams", authority=chain.account("ann"))
    expected = f"invalid authority; expected {chain.modules.gov.authority}, got {chain.account('ann')}: invalid request"
    assert chain.run(message).log == expected


@pytest.mark.parametrize(
    ("fields", "log"),
    [
        (
            {"send_enabled": [{"denom": "ulsh"}, {"denom": "ulsh"}]},
            'duplicate denom entries found for "ulsh": invalid request',
        ),
        ({"send_enabled": [{"denom": "x"}]}, 'invalid SendEnabled denom "x": invalid denom: x: invalid request'),
        ({"use_default_for": ["x"]}, 'invalid UseDefaultFor denom "x": invalid denom: x: invalid request'),
    ],
)
def test_coins_that_can_not_be_are_not_switched(fields: dict[str, Any], log: str) -> None:
    """Governance names each denom once, and only denoms."""
    chain = UnsignedChain("ann")
    authority = chain.modules.gov.authority
    message = chain.message("cosmos.bank.v1beta1.MsgSetSendEnabled", authority=authority, **fields)
    assert chain.run(message).log == log
