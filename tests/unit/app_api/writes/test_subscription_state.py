"""Whether a browser hears about an account, asked through the application API."""

from __future__ import annotations

import pytest
from tests.unit.app_api.write_stage import WALLET, Stage

AUTH = "AAECAwQFBgcICQoLDA0ODw"
PATH = f"/api/etl/subscriptions?address={WALLET}&auth={AUTH}"
ASKED = f"GET /api/subscriptions?address={WALLET}&auth={AUTH}"


@pytest.mark.parametrize("subscribed", [True, False])
async def test_the_data_apis_answer_passes(stage: Stage, subscribed: bool) -> None:
    """What the data API knows is what the page shows."""
    stage.world.answers[ASKED] = stage.world.answers["GET /api/subscriptions"] = (200, {"subscribed": subscribed})
    assert await stage.send(PATH, method="GET") == (200, {"subscribed": subscribed})


async def test_refusals_and_failures_are_told_apart(stage: Stage) -> None:
    """A wrong question is 400 in the data API's words, its own trouble 502, a missing member 400 at once."""
    for upstream, expected in ((400, 400), (500, 502)):
        stage.world.answers[ASKED] = stage.world.answers["GET /api/subscriptions"] = (upstream, {"message": "no"})
        assert (await stage.send(PATH, method="GET"))[0] == expected
    assert (await stage.send(f"/api/etl/subscriptions?address={WALLET}", method="GET"))[0] == 400
