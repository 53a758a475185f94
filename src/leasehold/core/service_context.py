"""What a service's `run` gets from whoever starts it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from leasehold.core.progress import ProgressBar
from leasehold.core.settings import Settings


@dataclass(frozen=True, slots=True)
class ServiceContext:
    """Settings with the database URL filled in, the stack's home, and how to say once that the service is ready.

    `ready` takes one line for people, such as `listening on http://127.0.0.1:8081`; `progress` makes a bar, by its
    title, for long work that comes before.
    """

    settings: Settings
    home: Path
    ready: Callable[[str], None]
    progress: Callable[[str], ProgressBar] = ProgressBar
