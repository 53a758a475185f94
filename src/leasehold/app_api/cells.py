"""Values computed in the background: each in a cell that is empty until its first refresh and never empties again."""

from __future__ import annotations

from typing import Generic, TypeVar

from leasehold.core.clock import Clock
from leasehold.core.errors import NotReady

T = TypeVar("T")


class Cell(Generic[T]):
    """A value with the moment it was refreshed; `title` stands in the 503 while there is none."""

    def __init__(self, name: str, title: str, clock: Clock) -> None:
        self.name = name
        self.title = title
        self._clock = clock
        self._value: T | None = None
        self._at = 0.0
        self.version = 0
        self.height = 0
        self.time_ns = 0

    @property
    def warm(self) -> bool:
        return self.version > 0

    @property
    def age(self) -> float | None:
        """Seconds since the last refresh, None while there was none."""
        return self._clock.monotonic() - self._at if self.warm else None

    @property
    def value(self) -> T:
        """The last good value; NotReady before the first."""
        if not self.warm:
            raise NotReady(f"{self.title} not yet available")
        return self._value  # type: ignore[return-value]

    def get(self) -> T | None:
        """The last good value, None before the first."""
        return self._value

    def put(self, value: T, *, height: int = 0, time_ns: int = 0) -> bool:
        """Replace the value; says whether it differs from the last."""
        changed = not self.warm or value != self._value
        self._value = value
        self._at = self._clock.monotonic()
        self.version += 1
        self.height = height
        self.time_ns = time_ns
        return changed
