"""Structured logs: one line per event, JSON or for people, with the context bound around it."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog

_SECRET = re.compile(r"(secret|password|passwd|token|api_?key|mnemonic|private|authorization)", re.IGNORECASE)
_URL_PASSWORD = re.compile(r"(\w+://[^:/@\s]+:)[^@\s]+@")
MASK = "••••"


def mask_secrets(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replace values whose name says they are secret, and passwords inside URLs."""
    for key, value in event.items():
        if _SECRET.search(key):
            event[key] = MASK
        elif isinstance(value, str) and "://" in value:
            event[key] = _URL_PASSWORD.sub(rf"\1{MASK}@", value)
    return event


def configure(*, service: str, level: str = "info", form: str = "auto", stream: TextIO | None = None) -> None:
    """Set up logging for a process; `form` is json, plain or auto (plain on a terminal)."""
    out = stream or sys.stderr
    as_json = form == "json" or (form == "auto" and not out.isatty())
    renderer: Any = (
        structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer(colors=out.isatty())
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            structlog.processors.format_exc_info,
            mask_secrets,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=False,
    )
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(service=service)


def get(name: str) -> structlog.typing.FilteringBoundLogger:
    """A logger that says which part of the service speaks."""
    return structlog.get_logger(part=name)  # type: ignore[no-any-return]
