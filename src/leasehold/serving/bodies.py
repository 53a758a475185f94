"""Request bodies: read within bounds of size and time, then decoded and validated in one pass."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import msgspec
from starlette.requests import Request as RawRequest

from leasehold.core.errors import InvalidInput, LeaseholdError, TooLarge, UnsupportedMedia

_PLACE = re.compile(r" - at `\$\.?([^`]*)`$")
_MISSING = re.compile(r"missing required field `([^`]+)`")


class RequestTimeout(LeaseholdError):
    """The request did not arrive in time."""

    status = 408
    code = "REQUEST_TIMEOUT"


async def read_body(request: RawRequest, *, limit: int, seconds: float) -> bytes:
    """The whole body, at most `limit` bytes, arriving within `seconds`."""
    length = request.headers.get("content-length")
    if length is not None and int(length) > limit:
        raise TooLarge(f"the request body is larger than {limit} bytes")
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                size += len(chunk)
                if size > limit:
                    raise TooLarge(f"the request body is larger than {limit} bytes")
                chunks.append(chunk)
    except TimeoutError:
        raise RequestTimeout("the request took too long to arrive") from None
    return b"".join(chunks)


def require_json(request: RawRequest) -> None:
    """Refuse a body that does not say it is JSON in UTF-8."""
    media, _, parameters = request.headers.get("content-type", "").partition(";")
    name = media.strip().lower()
    if name != "application/json" and not (name.startswith("application/") and name.endswith("+json")):
        raise UnsupportedMedia("the request body must be application/json")
    charset = re.search(r'charset\s*=\s*"?([^";\s]+)', parameters, re.IGNORECASE)
    if charset and charset[1].lower() not in ("utf-8", "utf8"):
        raise UnsupportedMedia("the request body must be UTF-8")


def decode_body(data: bytes, decoder: msgspec.json.Decoder[Any]) -> Any:
    """The value of a JSON body; InvalidInput says what is wrong and where."""
    if not data.strip():
        raise InvalidInput("the request body is empty")
    try:
        value = decoder.decode(data)
        # Decoders disagree on which of two equal members counts, so neither does.
        json.loads(data, object_pairs_hook=_refuse_duplicates, parse_int=str, parse_float=str)
        return value
    except msgspec.ValidationError as error:
        text = str(error)
        place = _PLACE.search(text)
        missing = _MISSING.search(text)
        names = [name for name in (place[1] if place else "", missing[1] if missing else "") if name]
        raise InvalidInput(_PLACE.sub("", text), field=".".join(names) or None) from None
    except msgspec.DecodeError as error:
        raise InvalidInput(f"the request body is not valid JSON: {error}") from None
    except UnicodeDecodeError:
        raise InvalidInput("the request body is not valid UTF-8") from None
    except RecursionError:
        raise InvalidInput("the request body is nested too deeply") from None


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise InvalidInput(f"duplicate member `{name}`", field=name)
        seen.add(name)
