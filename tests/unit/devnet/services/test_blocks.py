"""Blocks, validator sets and the node, as the SDK's services show them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.devnet.open_chain import BLOCKS, OpenChain, shared_chain

from leasehold.devnet.app.errors import Status, StatusError

TENDERMINT = "/cosmos.base.tendermint.v1beta1.Service/"
NODE = "/cosmos.base.node.v1beta1.Service/"


@pytest.fixture
def chain() -> OpenChain:
    return shared_chain()


def refusal(chain: OpenChain, path: str, /, **fields: Any) -> StatusError:
    with pytest.raises(StatusError) as caught:
        chain.call(path, **fields)
    return caught.value


def test_a_block_is_shown_raw_and_with_its_proposer_in_bech32(chain: OpenChain) -> None:
    """Both forms tell the same header."""
    answer = chain.call(TENDERMINT + "GetLatestBlock")
    stored = chain.devnet.node.store.block(BLOCKS)
    assert stored is not None
    assert answer.block_id.hash == stored.id.hash
    assert answer.block.header.height == answer.sdk_block.header.height == BLOCKS
    prefix = chain.devnet.settings.identity.prefix
    assert answer.sdk_block.header.proposer_address.startswith(f"{prefix}valcons1")


def test_blocks_beyond_the_chain_are_refused(chain: OpenChain) -> None:
    """Too high is an invalid argument, zero and below have the node's own text."""
    error = refusal(chain, TENDERMINT + "GetBlockByHeight", height=99)
    assert (error.status, error.message) == (
        Status.INVALID_ARGUMENT,
        "requested block height is bigger then the chain length",
    )
    assert (
        refusal(chain, TENDERMINT + "GetBlockByHeight", height=-3).message
        == "height must be greater than 0, but got -3"
    )


def test_the_latest_validators_work_on_the_next_block(chain: OpenChain) -> None:
    """The set named latest is one height ahead; pages have the total of all."""
    latest = chain.call(TENDERMINT + "GetLatestValidatorSet")
    assert latest.block_height == BLOCKS + 1
    page = chain.devnet.registry.new("cosmos.base.query.v1beta1.PageRequest", limit=1)
    first = chain.call(TENDERMINT + "GetValidatorSetByHeight", height=2, pagination=page)
    assert len(first.validators) == 1
    assert first.pagination.total == len(latest.validators)
    assert first.block_height == 2


def test_abci_queries_through_the_service_are_limited(chain: OpenChain) -> None:
    """Only paths of the application, its stores and its peers may be asked there."""
    assert chain.call(TENDERMINT + "ABCIQuery", path="/app/version").height == BLOCKS
    assert refusal(chain, TENDERMINT + "ABCIQuery", path="/cosmos.bank.v1beta1.Query/Params").status is (
        Status.INVALID_ARGUMENT
    )


def test_the_node_tells_its_configuration_and_status(chain: OpenChain) -> None:
    """Gas price with eighteen digits, and the block it stands at."""
    assert chain.call(NODE + "Config").minimum_gas_price.endswith("000000" + chain.denom)
    status = chain.call(NODE + "Status")
    stored = chain.devnet.node.store.block(BLOCKS)
    assert stored is not None
    assert (status.height, status.app_hash) == (BLOCKS, stored.block.header.app_hash)
    info = chain.call(TENDERMINT + "GetNodeInfo")
    assert info.default_node_info.network == chain.devnet.node.chain_id
    assert not chain.call(TENDERMINT + "GetSyncing").syncing
