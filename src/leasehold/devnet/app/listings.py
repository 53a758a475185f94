"""Long lists: a page of many items is gathered in parts, so that blocks are sealed between them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from leasehold.chain.registry import Method

# Items that are gathered without a pause.
PART = 100
_PAGE_REQUEST = "cosmos.base.query.v1beta1.PageRequest"

Call = Callable[[Any], Awaitable[Any]]


def is_listing(method: Method) -> bool:
    """Whether a method gives one list a page at a time."""
    asked = method.request_type.DESCRIPTOR.fields_by_name.get("pagination")
    given = [field for field in method.response_type.DESCRIPTOR.fields if _is_list(field)]
    return (
        asked is not None
        and asked.message_type is not None
        and asked.message_type.full_name == _PAGE_REQUEST
        and len(given) == 1
        and "pagination" in method.response_type.DESCRIPTOR.fields_by_name
    )


def is_long(request: Any) -> bool:
    """Whether a request to a listing asks for more than is gathered without a pause."""
    return bool(request.pagination.limit > PART)


async def gathered(call: Call, request: Any) -> Any:
    """The page that one call would give, from as many as it takes; all must read the same height."""
    part = type(request)()
    part.CopyFrom(request)
    left = request.pagination.limit
    part.pagination.limit = min(left, PART)
    whole = await call(part)
    name = next(field.name for field in whole.DESCRIPTOR.fields if _is_list(field))
    items = getattr(whole, name)
    left -= PART
    part.pagination.offset, part.pagination.count_total = 0, False
    while left > 0 and whole.pagination.next_key:
        await asyncio.sleep(0)
        part.pagination.key, part.pagination.limit = whole.pagination.next_key, min(left, PART)
        more = await call(part)
        items.extend(getattr(more, name))
        whole.pagination.next_key = more.pagination.next_key
        left -= PART
    return whole


def _is_list(field: Any) -> bool:
    return bool(field.is_repeated)
