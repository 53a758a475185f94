"""Genesis documents."""

from __future__ import annotations

import json

import pytest

from leasehold.core.errors import ConfigurationError
from leasehold.devnet.consensus.genesis import Genesis, compacted, read_params, render_params

DOCUMENT = b"""{"app_name": "x", "genesis_time": "2026-11-15T02:29:03.0980747Z", "chain_id": "golden-1",
  "initial_height": 1, "app_hash": null, "app_state": { "b": [1.50, "two  spaces \\" and {"], "a": {} },
  "consensus": {"params": {"block": {"max_bytes": "5", "max_gas": "-1"}}}}"""


def test_the_applications_form_becomes_cometbfts() -> None:
    """Members, order and the application's own state are those that `genesis` answers."""
    genesis = Genesis.parse(DOCUMENT)
    document = json.loads(genesis.document)
    assert list(document) == [
        "genesis_time", "chain_id", "initial_height", "consensus_params", "app_hash", "app_state",
    ]  # fmt: skip
    assert document["genesis_time"] == "2026-11-15T02:29:03.0980747Z"
    assert document["initial_height"] == "1"
    assert document["consensus_params"]["block"] == {"max_bytes": "5", "max_gas": "-1"}
    assert genesis.app_state == b'{"b":[1.50,"two  spaces \\" and {"],"a":{}}'
    assert Genesis.parse(genesis.document) == genesis


def test_parameters_survive_and_hide_their_zeros() -> None:
    """Block results leave zero members out of version and abci, everything else shows them."""
    params = read_params({"version": {"app": "3"}, "evidence": {"max_age_duration": "60000000000"}})
    assert read_params(render_params(params)) == params
    assert render_params(params, zeros=False)["version"] == {"app": "3"}
    assert render_params(read_params({}), zeros=False)["version"] == {}
    assert render_params(read_params({}))["abci"] == {"vote_extensions_enable_height": "0"}


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"chain_id":"a","genesis_time":"yesterday"}', b"{\xff}"])
def test_nonsense_is_a_configuration_error(text: bytes) -> None:
    """What is no genesis is refused with a hint."""
    with pytest.raises(ConfigurationError, match="not a genesis document"):
        Genesis.parse(text)


def test_compacting_touches_only_blanks() -> None:
    """Blanks inside strings, numbers and escapes stay as they are."""
    assert compacted(b' { "a b" : [ 1.0 , "\\\\" , "\\" " ] } ') == b'{"a b":[1.0,"\\\\","\\" "]}'
