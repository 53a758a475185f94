"""Long lists in parts: the same page as in one go, with pauses in which blocks can be sealed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from leasehold.chain.registry import registry
from leasehold.devnet.app.listings import PART, gathered, is_listing
from leasehold.devnet.app.pagination import page_of

REGISTRY = registry()
METHOD = REGISTRY.method_by_path["/cosmos.bank.v1beta1.Query/TotalSupply"]
NAMES = [f"coin{number:05d}" for number in range(3 * PART + 7)]
COINS = [(name.encode(), {"denom": name, "amount": "1"}) for name in NAMES]


async def listed(request: Any) -> Any:
    """All coins, as a handler pages through them."""
    items, page = page_of(COINS, request.pagination)
    return METHOD.response_type(supply=items, pagination={"next_key": page.next_key, "total": page.total})


@pytest.mark.parametrize(
    "asked",
    [
        {"limit": 10_000},
        {"limit": 10_000, "count_total": True},
        {"limit": 2 * PART, "count_total": True},
        {"limit": 2 * PART + 1, "offset": 9},
        {"limit": 2 * PART + 1, "offset": 9, "count_total": True, "reverse": True},
        {"limit": PART + 5, "key": b"coin00100"},
        {"limit": PART + 5, "key": b"coin01400", "reverse": True},
        {"limit": PART + 1, "offset": 99_999, "count_total": True},
    ],
)
async def test_a_page_in_parts_is_the_page_in_one_go(asked: dict[str, Any]) -> None:
    """Items, the key of the next page and the total are the same, whatever was asked for."""
    request = METHOD.request_type(pagination=asked)
    assert await gathered(listed, request) == await listed(request)


async def test_other_work_is_done_between_parts() -> None:
    """A task that only needs its turn gets one after each part."""
    turns = 0
    asked = 0

    async def counting(request: Any) -> Any:
        nonlocal asked
        asked += 1
        assert request.pagination.limit <= PART
        return await listed(request)

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    await gathered(counting, METHOD.request_type(pagination={"limit": 10_000}))
    task.cancel()
    assert asked == 4
    assert turns >= 3


def test_only_methods_with_one_list_and_a_page_are_listings() -> None:
    """A search of transactions gives two lists and no page; a balance gives none."""
    paths = {method.path for method in REGISTRY.methods if is_listing(method)}
    assert METHOD.path in paths
    assert "/cosmos.tx.v1beta1.Service/GetTxsEvent" not in paths
    assert "/cosmos.bank.v1beta1.Query/Balance" not in paths
