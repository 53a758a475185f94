"""Named queries: SQL in `.sql` files, each under a sentence that says what it returns.

    -- The newest height committed to the index.
    -- name: newest_height
    SELECT height FROM indexer.cursor;

`load("leasehold.indexer", "queries.sql").newest_height` is the text of that query.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import resources

from leasehold.core.errors import ConfigurationError

_NAME = re.compile(r"^--\s*name:\s*(\S+)\s*$")
_IDENTIFIER = re.compile(r"^[a-z][a-z0-9_]*$")


class MalformedQueries(ConfigurationError):
    """A file of named queries that breaks its rules; says where."""

    code = "MALFORMED_QUERIES"


class Queries(Mapping[str, str]):
    """The queries of one file, as attributes and as a mapping; `about` has the sentence of each."""

    def __init__(self, texts: Mapping[str, str], about: Mapping[str, str]) -> None:
        self._texts = dict(texts)
        self.about = dict(about)

    def __getattr__(self, name: str) -> str:
        try:
            return self._texts[name]
        except KeyError:
            raise AttributeError(f"no query named {name!r}; there are {', '.join(self._texts)}") from None

    def __getitem__(self, name: str) -> str:
        return self._texts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


def load(package: str, file: str) -> Queries:
    """Queries of a file inside a package."""
    path = resources.files(package) / file
    return parse(path.read_text(encoding="utf-8"), f"{package}/{file}")


def parse(text: str, origin: str) -> Queries:
    """Queries of a text; every one must have a lower-case name of its own, a sentence above and a statement below."""
    texts: dict[str, str] = {}
    about: dict[str, str] = {}
    lines = text.splitlines()
    starts = [(index, match[1]) for index, line in enumerate(lines) if (match := _NAME.match(line))]
    for position, (index, name) in enumerate(starts):
        where = f"{origin}:{index + 1}"
        if not _IDENTIFIER.match(name) or hasattr(Queries, name) or name == "about":
            raise MalformedQueries(f"{where}: {name!r} can't name a query")
        if name in texts:
            raise MalformedQueries(f"{where}: {name!r} is named twice")
        sentence = _comment_above(lines, index)
        if not sentence:
            raise MalformedQueries(f"{where}: {name!r} needs a sentence above its name")
        end = starts[position + 1][0] if position + 1 < len(starts) else len(lines)
        end -= len(_comment_lines(lines, end)) if end < len(lines) else 0
        body = "\n".join(lines[index + 1 : end]).strip().removesuffix(";").rstrip()
        if not body:
            raise MalformedQueries(f"{where}: {name!r} has no statement")
        texts[name], about[name] = body, sentence
    if not texts:
        raise MalformedQueries(f"{origin} names no query")
    return Queries(texts, about)


def _comment_lines(lines: list[str], index: int) -> list[str]:
    """The run of comment lines that ends right above `index`."""
    start = index
    while start > 0 and lines[start - 1].startswith("--") and not _NAME.match(lines[start - 1]):
        start -= 1
    return lines[start:index]


def _comment_above(lines: list[str], index: int) -> str:
    return " ".join(line.removeprefix("--").strip() for line in _comment_lines(lines, index))
