"""Where the browser tests find their browser: three ways, in this order, and only one that starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.browser import chromium


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
    """What each way finds; only paths that begin with a slash start."""
    found: dict[str, str | None] = {"installed": None, "debian": None, "carried": None}
    monkeypatch.setattr(chromium, "installed", lambda: found["installed"])
    monkeypatch.setattr(chromium, "from_debian", lambda: found["debian"])
    monkeypatch.setattr(chromium, "carried", lambda node: found["carried"])
    monkeypatch.setattr(chromium, "starts", lambda browser: browser.startswith("/"))
    return found


def test_an_installed_browser_is_first_then_debians_then_the_carried_one(ways: dict[str, str | None]) -> None:
    """Each way is taken only where the ones before it find nothing."""
    assert chromium.find_chromium("node") is None
    for name in ("carried", "debian", "installed"):
        ways[name] = f"/{name}"
        assert chromium.find_chromium("node") == f"/{name}"


def test_a_browser_that_does_not_start_is_passed_over(ways: dict[str, str | None]) -> None:
    """A wrapper without its browser, as some systems install it, does not end the search."""
    ways.update(installed="broken", carried="/carried")
    assert chromium.find_chromium("node") == "/carried"


def test_starting_is_tried(tmp_path: Path) -> None:
    """Whether a file starts is found out by starting it."""
    script = tmp_path / "browser"
    script.write_text("#!/bin/sh\nexit 0\n")
    assert not chromium.starts(str(script))
    script.chmod(0o755)
    assert chromium.starts(str(script))
