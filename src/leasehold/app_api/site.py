"""The web application's files, served as snapshots: finished bytes, compressed once, answered on the fast path.

They are built from `web/` into the package; an installation without them serves the API alone.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable

from leasehold.serving.routes import Registry
from leasehold.serving.snapshots import SnapshotTable

# Paths of the application's pages: each shows the same document, which finds the page by itself.
PAGES = ("/", "/assets", "/earn", "/leases", "/swap", "/stake", "/governance", "/account", "/stats", "/chain")
_DOCUMENT = "index.html"
# Files whose names carry a hash of their content never change.
_FOR_EVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"
_POLICY = {
    "content-security-policy": (
        "default-src 'self'; connect-src *; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
        "object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


def files() -> dict[str, bytes]:
    """Every built file by the path it is served under; empty where the application was not built."""
    root = resources.files("leasehold.app_api") / "static"
    return dict(_walk(root, "")) if root.is_dir() else {}


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        path = f"{prefix}/{entry.name}"
        if entry.is_dir():
            yield from _walk(entry, path)
        else:
            yield path, entry.read_bytes()


def declare(registry: Registry, found: dict[str, bytes]) -> None:
    """Declare a hidden route for every file and page."""
    if not found:
        return
    for path in (*PAGES, *(path for path in found if path != f"/{_DOCUMENT}")):
        registry.snapshot(
            path,
            # Names such as get_assets are the API's.
            operation_id=f"site:{path}",
            hidden=True,
            name="The web application",
            response=str,
            produces=(_kind(path),),
        )


async def publish(snapshots: SnapshotTable, found: dict[str, bytes]) -> None:
    """Make the files the answers to their paths."""
    document = found.get(f"/{_DOCUMENT}")
    if document is None:
        return
    for page in PAGES:
        await _put(snapshots, page, document, _ASK_AGAIN)
    for path, content in found.items():
        if path != f"/{_DOCUMENT}":
            await _put(snapshots, path, content, _FOR_EVER if path.startswith("/assets/") else _ASK_AGAIN)


async def _put(snapshots: SnapshotTable, path: str, content: bytes, cache_control: str) -> None:
    await snapshots.publish(
        path,
        content,
        height=0,
        time_ns=0,
        cache_control=cache_control,
        content_type=_kind(path),
        headers=_POLICY,
    )


def _kind(path: str) -> str:
    if "." not in path.rpartition("/")[2]:
        return "text/html; charset=utf-8"
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") or kind.endswith("javascript") else kind
