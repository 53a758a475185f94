"""Every page, looked at: in both themes and on two screens, by the console, by axe and by its weight."""

from __future__ import annotations

import pytest
from tests.browser.conftest import Drive

pytestmark = pytest.mark.browser
FIRST_LOAD_BYTES = 200_000
INTERACTIVE_MS = 2_000


def test_the_first_load_is_light_and_soon_usable(drive: Drive) -> None:
    """The first load is under 200 KB on the wire and usable within two seconds; signing is not part of it."""
    seen = drive("weight.mjs")
    assert 0 < seen["bytes"] < FIRST_LOAD_BYTES, seen
    assert seen["interactive"] < INTERACTIVE_MS, seen
    assert not [name for name in seen["files"] if "signing" in name]


def test_every_page_shows_without_an_error(drive: Drive) -> None:
    """No page logs an error, shows one, is wider than its screen, or has a serious accessibility violation."""
    seen = drive("pages.mjs", seconds=240)
    assert len(seen["visited"]) == 40
    assert seen["errors"] == []
    assert seen["problems"] == []
    assert seen["overflowing"] == []
    assert seen["violations"] == []
