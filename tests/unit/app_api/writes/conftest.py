"""An application API of its own for each test of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.unit.app_api.write_stage import Stage, staged


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged() as found:
        yield found
