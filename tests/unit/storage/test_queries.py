"""Named queries are found, documented and refused when malformed."""

from __future__ import annotations

import pytest

from leasehold.storage import queries

TEXT = """\
-- The first block
-- that is known.
-- name: first_block
SELECT 1
-- a comment inside stays
FROM block;

-- The last block.
-- name: last_block
SELECT 2;
"""


def test_a_query_is_an_attribute_with_its_sentence() -> None:
    """The text below a name and the sentence above it are both there, joined over lines."""
    loaded = queries.parse(TEXT, "x.sql")
    assert loaded.first_block == "SELECT 1\n-- a comment inside stays\nFROM block"
    assert loaded.last_block == "SELECT 2"
    assert loaded.about == {"first_block": "The first block that is known.", "last_block": "The last block."}
    assert list(loaded) == ["first_block", "last_block"]


def test_an_unknown_query_names_the_known_ones() -> None:
    """A misspelt attribute says what there is."""
    with pytest.raises(AttributeError, match="first_block, last_block"):
        _ = queries.parse(TEXT, "x.sql").first_blok


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("-- name: a\nSELECT 1", "x.sql:1: 'a' needs a sentence"),
        ("-- S.\n-- name: a\n\n-- T.\n-- name: b\nSELECT 1", "x.sql:2: 'a' has no statement"),
        ("-- S.\n-- name: a\nSELECT 1\n-- T.\n-- name: a\nSELECT 2", "x.sql:5: 'a' is named twice"),
        ("-- S.\n-- name: keys\nSELECT 1", "'keys' can't name"),
        ("-- S.\n-- name: Big\nSELECT 1", "'Big' can't name"),
        ("SELECT 1", "names no query"),
    ],
)
def test_a_malformed_file_is_refused_with_its_place(text: str, complaint: str) -> None:
    """Every rule of the format has its own complaint."""
    with pytest.raises(queries.MalformedQueries, match=complaint):
        queries.parse(text, "x.sql")


def test_queries_come_from_a_package() -> None:
    """A file is found inside an installed package."""
    assert "pg_advisory_xact_lock" in queries.load("leasehold.storage", "migrations.sql").lock
