"""Conditional requests and content codings: which variant a client wants, and whether it already has it."""

from __future__ import annotations

import re
from functools import lru_cache

# Best first among codings a client likes equally: smaller on the wire, then more widely understood.
SUPPORTED = ("zstd", "gzip", "identity")
_WEIGHT = re.compile(r"\s*q\s*=\s*(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)\s*", re.IGNORECASE)
_ENTITY_TAG = re.compile(rb'\s*(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")\s*(?:,|$)')


@lru_cache(maxsize=1024)
def accepted_encodings(header: bytes | None) -> tuple[str, ...]:
    """Supported codings in the order a client wants them; identity is last resort even where it is refused."""
    if not header:
        return ("identity",)
    weights: dict[str, float] = {}
    for member in header.decode("latin-1").split(","):
        coding, _, parameter = member.partition(";")
        weight = 1.0
        if parameter:
            match = _WEIGHT.fullmatch(parameter)
            weight = float(match[1]) if match else 0.0
        name = coding.strip().lower()
        weights["gzip" if name == "x-gzip" else name] = weight
    anything = weights.get("*", 0.0)
    ranked = sorted(
        ((weights.get(name, anything), name) for name in SUPPORTED if name != "identity"),
        key=lambda pair: -pair[0],
    )
    identity = weights.get("identity", -1.0)
    better = tuple(name for weight, name in ranked if weight > 0 and weight >= identity)
    worse = tuple(name for weight, name in ranked if 0 < weight < identity)
    return (*better, "identity", *worse)


@lru_cache(maxsize=4096)
def entity_tags(header: bytes) -> frozenset[bytes]:
    """Opaque tags of an If-None-Match list, weak marks dropped; `*` stands for any, a malformed list for none."""
    if header.strip() == b"*":
        return frozenset((b"*",))
    tags = []
    position = 0
    while position < len(header):
        match = _ENTITY_TAG.match(header, position)
        if match is None:
            return frozenset()
        tags.append(match[1])
        position = match.end()
    return frozenset(tags)


def not_modified(if_none_match: bytes | None, etag: bytes) -> bool:
    """Whether the client already holds the variant with this ETag (weak comparison, as GET and HEAD ask for)."""
    if if_none_match is None:
        return False
    if if_none_match == etag:
        return True
    tags = entity_tags(if_none_match)
    return etag in tags or b"*" in tags
