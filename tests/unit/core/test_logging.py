"""Logs are one structured line per event, with context and without secrets."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from leasehold.core import logging


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


def events(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_json_line_with_its_context() -> None:
    """Service, part, level, UTC time and bound context are all there."""
    stream = io.StringIO()
    logging.configure(service="indexer", stream=stream)
    with structlog.contextvars.bound_contextvars(height=7):
        logging.get("decoder").info("block\nwith newline", events=3)
    (event,) = events(stream)
    assert event.pop("time").endswith("Z")
    assert event == {
        "event": "block\nwith newline",
        "level": "info",
        "service": "indexer",
        "part": "decoder",
        "height": 7,
        "events": 3,
    }


def test_the_level_is_obeyed_also_by_earlier_loggers() -> None:
    """A logger made before the configuration follows it."""
    early = logging.get("early")
    stream = io.StringIO()
    logging.configure(service="x", level="warning", stream=stream)
    early.info("quiet")
    early.warning("loud")
    assert [event["event"] for event in events(stream)] == ["loud"]


def test_plain_lines_are_for_people() -> None:
    """The plain form is no JSON and, away from a terminal, has no colours."""
    stream = io.StringIO()
    logging.configure(service="x", form="plain", stream=stream)
    logging.get("p").info("hello", n=1)
    assert "hello" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()
    assert not stream.getvalue().startswith("{")


@pytest.mark.parametrize("key", ["api_key", "apikey", "Authorization", "mnemonic", "user_password", "referral_token"])
def test_secrets_are_masked_by_name(key: str) -> None:
    """A value whose name says secret is never written."""
    assert logging.mask_secrets(None, "", {key: "hunter2"})[key] == logging.MASK


def test_passwords_in_urls_are_masked() -> None:
    """User and host stay readable, the password does not."""
    masked = logging.mask_secrets(None, "", {"url": "postgresql://bob:hunter2@db/x", "other": "http://h/?a:b@c"})
    assert masked == {"url": f"postgresql://bob:{logging.MASK}@db/x", "other": "http://h/?a:b@c"}


def test_exceptions_stay_on_one_line() -> None:
    """A stack trace is a field of the event, not lines of its own."""
    stream = io.StringIO()
    logging.configure(service="x", stream=stream)
    try:
        _ = 1 // 0
    except ZeroDivisionError:
        logging.get("p").exception("failed")
    (event,) = events(stream)
    assert "ZeroDivisionError" in event["exception"]
