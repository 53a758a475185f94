"""What was read from the chain survives being kept as JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from leasehold.indexer.discovery import Found
from leasehold.indexer.knowledge import Platform, Protocol, Terms
from leasehold.indexer.lookups import decode_found, encode_found
from leasehold.protocol.currencies import Currency
from leasehold.protocol.pool import PoolTotals


def test_a_discovery_comes_back_from_json_unchanged() -> None:
    """Protocols, terms, currencies, totals and balances are the same after a round trip, amounts beyond 64 bits too."""
    terms = Terms(60, 700, 20, 650, 40, 10**15, 900, 500, 50, 12, 650, ("f", "g"), (("U", 0, None), ("B", 1, "U")))
    currencies = {"U": Currency("U", "ibc/U", "u", 6, "lpn"), "B": Currency("B", "ibc/B", "b", 18, "lease")}
    seen = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    protocol = Protocol("P-D-U", "Net", None, "U", "U", {"lpp": "chain1l"}, currencies, terms, seen)
    found = Found(
        Platform("chain1a", "chain1t", "chain1s"),
        {"P-D-U": protocol},
        {"chain1l": PoolTotals(2**100, 3, 5, 7, 11, 2**90)},
        {("chain1l", "ibc/U"): 2**120},
    )
    assert decode_found(json.loads(encode_found(found))) == found
