"""What the original trips over unawares while it answers a query."""

from __future__ import annotations


class Panic(Exception):
    """A query that broke; the original recovers and tells the text."""
