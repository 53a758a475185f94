"""What comes of a message that is judged under a grant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Verdict:
    """An accepted message; what becomes of the grant: kept as it is, replaced, or used up."""

    used_up: bool = False
    updated: Any = None
