"""The page about the devnet lists the protocols that are on it."""

from __future__ import annotations

import re
from pathlib import Path

from leasehold.devnet.genesis.protocols import PROTOCOLS

PAGE = Path(__file__).parents[4] / "docs" / "devnet.md"


def test_the_page_lists_every_protocol_with_its_terms() -> None:
    """Name, lent currency, leased currencies, side and appetite of each protocol are those of genesis."""
    rows = {}
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[0].startswith("`"):
            rows[cells[0].strip("`")] = cells[1:]
    assert set(rows) == {spec.name for spec in PROTOCOLS}
    for spec in PROTOCOLS:
        lent, against, side, appetite = rows[spec.name]
        assert lent == spec.lpn
        assert tuple(re.split(r"[ ,]+", against.split(",")[0])) == spec.leased
        assert side.startswith("long" if spec.is_long else "short")
        assert appetite == f"{spec.appetite / 10:g} %"
