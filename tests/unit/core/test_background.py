"""Work beside a context begins and ends with it."""

import asyncio

import pytest

from leasehold.core.background import background


async def test_work_goes_on_beside_the_body_and_ends_with_it() -> None:
    """The work runs while the body does, is cancelled at its end, and has ended when the context has."""
    steps: list[str] = []

    async def work() -> None:
        steps.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            steps.append("ended")

    async with background(work(), name="work"):
        await asyncio.sleep(0)
        assert steps == ["begun"]
        assert "work" in {task.get_name() for task in asyncio.all_tasks()}
    assert steps == ["begun", "ended"]


async def test_work_that_failed_is_told_at_the_end() -> None:
    """A failure is not swallowed: the context raises it when it ends."""

    async def work() -> None:
        raise ValueError("out of order")

    with pytest.raises(ValueError, match="out of order"):
        async with background(work(), name="work"):
            await asyncio.sleep(0)
