"""The recorded chain, rebuilt from its genesis and raw blocks, ends every transaction and block as recorded."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from tests.golden import report
from tests.golden.replay_checks import judge_checks, sent_transactions
from tests.golden.replay_judgement import Judgement, Score, judge
from tests.golden.replay_world import ReplayWorld, load

pytestmark = pytest.mark.golden

FLOORS: dict[str, float] = tomllib.loads((Path(__file__).parent / "floors.toml").read_text())["replay"]
_SHOWN = 20


@cache
def _judged(golden: Path) -> Judgement:
    return judge(ReplayWorld(load(golden)))


@pytest.fixture
def judgement(golden: Path) -> Judgement:
    return _judged(golden)


def _require(name: str, score: Score, share: Callable[[str, int, int], None]) -> None:
    share(f"replay {name}", score.agreed, score.total)
    report.record("chain/replay", name, score.agreed, score.total, score.differences)
    for difference in score.differences[:_SHOWN]:
        print(difference)
    assert score.total, f"nothing recorded of the {name}"
    assert score.agreed >= FLOORS[name] * score.total, f"{score.agreed}/{score.total} {name} agree"


def test_transactions_end_as_recorded(judgement: Judgement, share: Callable[[str, int, int], None]) -> None:
    """Code, codespace, log, data and events of every transaction that calls no foreign contract are those recorded."""
    print(f"{judgement.foreign} call foreign contracts, {judgement.unknown} results are held out")
    _require("transactions", judgement.transactions, share)


def test_block_events_are_those_recorded(judgement: Judgement, share: Callable[[str, int, int], None]) -> None:
    """What happens around the transactions of a block is told in the recorded words and order."""
    _require("blocks", judgement.blocks, share)


def test_validator_updates_are_those_recorded(judgement: Judgement, share: Callable[[str, int, int], None]) -> None:
    """Every block changes the validator set as recorded, empty changes included."""
    _require("updates", judgement.updates, share)


def test_states_are_those_recorded(judgement: Judgement, share: Callable[[str, int, int], None]) -> None:
    """Balances, mint state, supply, pools, validators, rewards and delegations agree to the last digit."""
    _require("states", judgement.states, share)


@cache
def _checked(golden: Path) -> tuple[Score, Score]:
    return judge_checks(ReplayWorld(load(golden)), sent_transactions(golden))


def test_the_mempool_judges_as_recorded(golden: Path, share: Callable[[str, int, int], None]) -> None:
    """Before its block every transaction is taken or refused with the recorded code, codespace and text."""
    _require("checks", _checked(golden)[0], share)


def test_simulations_end_as_recorded(golden: Path, share: Callable[[str, int, int], None]) -> None:
    """Simulating the signed bytes gives the recorded events, or the recorded refusal."""
    _require("simulations", _checked(golden)[1], share)
