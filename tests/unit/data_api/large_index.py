"""A large index made by PostgreSQL itself: accounts with long histories among many others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg

from leasehold.core.addresses import encode

START = "2025-01-01T00:00:00Z"
ACCOUNT = encode("chain", b"\1" * 20)
LEASE = encode("chain", b"\2" * 32)
PROTOCOL = "OSMOSIS-OSMOSIS-USDC"
POOL = encode("chain", b"\3" * 32)

PARTITIONED = "blocks txs messages account_messages price_candles position_hours account_hours"


def fill(url: str, blocks: int, start: str = START) -> None:
    """Fill an empty index with so many blocks and what comes with them, and let PostgreSQL look at it."""
    text = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    words = {"n": str(blocks), "protocol": PROTOCOL, "pool": POOL, "account": ACCOUNT, "lease": LEASE, "start": start}
    for name, word in words.items():
        text = text.replace("{" + name + "}", word)
    with psycopg.connect(url, autocommit=True, options="-c synchronous_commit=off") as connection:
        for table in PARTITIONED.split():
            partition: Any = f"CREATE TABLE indexer.{table}_all PARTITION OF indexer.{table} DEFAULT"
            connection.execute(partition)
        for statement in text.split(";\n"):
            if statement.strip():
                written: Any = statement
                connection.execute(written)
        connection.execute("VACUUM ANALYZE")
