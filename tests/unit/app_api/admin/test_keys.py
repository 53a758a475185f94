"""Admin keys: hashed at rest, several at once, and a limit on wrong ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from leasehold.app_api.admin.gate import (
    MOST_CLIENTS,
    MOST_FAILURES,
    WINDOW_SECONDS,
    AdminDisabled,
    Failures,
    Gate,
    actor,
)
from leasehold.app_api.admin.keys import KeyHash, Keyring, hashed
from leasehold.app_api.admin.keystore import Keys
from leasehold.core.clock import ManualClock
from leasehold.core.errors import ConfigurationError, RateLimited, Unauthorized

CHEAP = 2**4


def _request(header: str | None, client: str = "192.0.2.1") -> Any:
    headers = {} if header is None else {"authorization": header}
    return SimpleNamespace(
        headers=headers, client=SimpleNamespace(host=client), state=SimpleNamespace(), url=SimpleNamespace(path="/")
    )


def _keys(*configured: KeyHash) -> Keys:
    return Keys(tuple(one.text() for one in configured), lambda: None, ManualClock())


def test_a_hash_says_nothing_about_its_key() -> None:
    """The same key under two salts gives two hashes, neither contains it, and both fit it alone."""
    one, other = hashed("ann", "key", cost=CHEAP), hashed("ann", "key", cost=CHEAP)
    assert one.text() != other.text()
    assert "key" not in one.text().removeprefix("ann:scrypt:16:")
    assert one.fits("key")
    assert not one.fits("key ")
    assert KeyHash.parse(one.text()) == one


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "hunter2",
        "ann:sha256:1:c2FsdHNhbHQ:eA",
        "ann:scrypt:15:c2FsdHNhbHQ:eA",
        "ann:scrypt:x:c2FsdHNhbHQ:eA",
        ":::::",
    ],
)
def test_a_wrong_entry_stops_the_service_without_being_shown(entry: str) -> None:
    """A setting that is no hash, such as a bare key, is refused and not repeated."""
    with pytest.raises(ConfigurationError) as refusal:
        Keyring([entry])
    assert not entry or entry not in str(refusal.value)


def test_keys_rotate() -> None:
    """Two keys work side by side, each by its name; once one is gone only the other does."""
    old, new = hashed("old", "first", cost=CHEAP).text(), hashed("new", "second", cost=CHEAP).text()
    both = Keyring([old, new])
    assert (both.name_of("first"), both.name_of("second"), both.name_of("third")) == ("old", "new", None)
    assert both.remembered("first") == "old"
    assert Keyring([new]).name_of("first") is None


async def test_the_gate_wants_bearer_and_a_key() -> None:
    """Missing, other and wrong credentials are 401; no key at all closes the gate for everybody."""
    gate = Gate(_keys(hashed("ann", "key", cost=CHEAP)), lambda: 0.0)
    for header in (None, "Basic eDp5", "bearer key", "Bearer", "Bearer wrong", f"Bearer {'x' * 2000}"):
        with pytest.raises(Unauthorized):
            await gate(_request(header))
    passed = _request("Bearer key")
    await gate(passed)
    assert actor(passed) == "ann"
    with pytest.raises(AdminDisabled):
        await Gate(_keys(), lambda: 0.0)(_request("Bearer key"))


async def test_wrong_keys_are_limited_and_right_ones_are_not() -> None:
    """After ten wrong keys a client waits, however right its next guess; a key that was right before still passes."""
    now = 0.0
    gate = Gate(_keys(hashed("ann", "key", cost=CHEAP)), lambda: now)
    await gate(_request("Bearer key", "192.0.2.9"))
    for _ in range(MOST_FAILURES):
        with pytest.raises(Unauthorized):
            await gate(_request("Bearer wrong"))
    with pytest.raises(RateLimited) as refusal:
        await gate(_request("Bearer wrong"))
    assert refusal.value.retry_after == WINDOW_SECONDS
    await gate(_request("Bearer key"))
    with pytest.raises(Unauthorized):
        await gate(_request("Bearer wrong", "192.0.2.2"))
    assert not gate._failures._times.get("192.0.2.9"), "a right key is no failure"
    now = WINDOW_SECONDS + 1
    with pytest.raises(Unauthorized):
        await gate(_request("Bearer wrong"))


def test_the_table_of_failures_is_bounded() -> None:
    """However many clients fail, only so many are remembered."""
    failures = Failures(lambda: 0.0)
    for number in range(MOST_CLIENTS + 10):
        failures.note(str(number))
    assert len(failures._times) == MOST_CLIENTS
