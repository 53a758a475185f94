"""A circuit breaker: an upstream that does not answer is left alone for a while, so that callers need not wait for it.

closed → open after some failures in a row; open → half open when its pause is over; half open lets one call through,
which closes it again or doubles the pause.
"""

from __future__ import annotations

from collections.abc import Callable

FAILURES = 5
FIRST_SECONDS = 2.0
LONGEST_SECONDS = 8.0


class Breaker:
    """Counts calls that were not answered at all; an answer with any status is an answer."""

    def __init__(self, monotonic: Callable[[], float], *, failures: int = FAILURES) -> None:
        self._now = monotonic
        self._limit = failures
        self._failures = 0
        self._pause = FIRST_SECONDS
        self._until = 0.0
        self._trying = False

    @property
    def open(self) -> bool:
        """Whether calls are refused at this moment."""
        return self._failures >= self._limit and (self._trying or self._now() < self._until)

    def allows(self) -> bool:
        """Whether a call may be made; of a half-open breaker only the first."""
        if self.open:
            return False
        self._trying = self._failures >= self._limit
        return True

    def answered(self) -> None:
        self._failures = 0
        self._pause = FIRST_SECONDS
        self._trying = False

    def failed(self) -> None:
        self._failures += 1
        # Calls that were already under way when it opened say nothing new.
        if self._failures == self._limit or self._trying:
            self._until = self._now() + self._pause
            self._pause = min(LONGEST_SECONDS, self._pause * 2)
        self._trying = False

    def abandoned(self) -> None:
        """The caller went away before there was an answer: nothing is known."""
        self._trying = False
