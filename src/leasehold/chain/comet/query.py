"""The query language of subscriptions and searches: `tag op operand` joined by AND.

The parser reports errors with the texts and byte offsets of the original. `Query.matches` is the subscription's way of
matching: conditions are judged one by one on the flattened map `type.key -> values`, numbers by the leading number of
a value. Searches apply other rules (see `matches_event`): conditions must hold in one event, numbers compare only with
values that are plain numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from leasehold.chain.go_time import DATE_LAYOUT, TIME_LAYOUT, BadTime, parse_go_time

MAX_LENGTH = 512

TAG, STRING, NUMBER, TIME, DATE = "tag", "string", "number", "timestamp", "datestamp"
AND, CONTAINS, EXISTS = "AND operator", "CONTAINS operator", "EXISTS operator"
EQ, LT, LE, GT, GE = "= operator", "< operator", "<= operator", "> operator", ">= operator"
INVALID = "invalid token"

# The original prints this token's number, not its name, where it wanted AND.
_AND_NUMBER = 6

_WORDS = {"AND": AND, "CONTAINS": CONTAINS, "EXISTS": EXISTS}
_OPERATORS = (LE, GE, LT, GT, EQ, CONTAINS, EXISTS)
_OPERANDS: dict[str, tuple[str, ...]] = {
    LE: (NUMBER, TIME, DATE),
    GE: (NUMBER, TIME, DATE),
    LT: (NUMBER, TIME, DATE),
    GT: (NUMBER, TIME, DATE),
    EQ: (NUMBER, TIME, DATE, STRING),
    CONTAINS: (STRING,),
    EXISTS: (),
}
_SYMBOLS = {LE: "<=", GE: ">=", LT: "<", GT: ">", EQ: "=", CONTAINS: "CONTAINS", EXISTS: "EXISTS"}
_LEADING_NUMBER = re.compile(r"\d+(\.\d+)?", re.ASCII)
_PLAIN_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)


class QuerySyntaxError(ValueError):
    """The text is not a query; the message is the original's."""


class _End(Exception):
    """The text ended where a token could begin or had to go on."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition; `kind` and `operand` are empty for EXISTS."""

    tag: str
    operator: str
    kind: str = ""
    operand: str = ""

    def __str__(self) -> str:
        head = f"{self.tag} {_SYMBOLS[self.operator]}"
        if not self.kind:
            return head
        written = {STRING: f"'{self.operand}'", TIME: f"TIME {self.operand}", DATE: f"DATE {self.operand}"}
        return f"{head} {written.get(self.kind, self.operand)}"

    @property
    def is_range(self) -> bool:
        return self.operator in (LT, LE, GT, GE)

    def accepts(self, value: str) -> bool:
        """Whether a value of a subscription's event meets the condition."""
        if self.operator == EXISTS:
            return True
        if self.operator == CONTAINS:
            return self.operand in value
        if self.kind == STRING:
            return value == self.operand
        if self.kind == NUMBER:
            number = leading_number(value)
            return number is not None and _compare(self.operator, number, Fraction(self.operand.rstrip(".")))
        read = _date_ns if self.kind == DATE else _time_ns
        instant = read(value)
        bound = read(self.operand)
        return instant is not None and bound is not None and _compare(self.operator, instant, bound)

    def accepts_indexed(self, value: str) -> bool:
        """Whether an indexed value meets the condition of a search."""
        if self.is_range:
            # An index holds text: only numbers can be compared, and only with values that are nothing but a number.
            if self.kind != NUMBER:
                return False
            number = plain_number(value)
            return number is not None and _compare(self.operator, number, Fraction(self.operand.rstrip(".")))
        if self.operator == EQ:
            return value == self.operand
        return self.operator == EXISTS or self.operand in value


def leading_number(value: str) -> Fraction | None:
    """The number a value starts with: 8 of `8unative`."""
    found = _LEADING_NUMBER.match(value)
    return Fraction(found.group()) if found else None


def plain_number(value: str) -> Fraction | None:
    """The value as a number, when it is nothing else."""
    stripped = value.strip()
    return Fraction(stripped.rstrip(".")) if _PLAIN_NUMBER.fullmatch(stripped) else None


def _compare(operator: str, left: Fraction | int, right: Fraction | int) -> bool:
    if operator == EQ:
        return left == right
    if operator == LT:
        return left < right
    if operator == LE:
        return left <= right
    return left > right if operator == GT else left >= right


def _date_ns(text: str) -> int | None:
    return _instant(text, DATE_LAYOUT)


def _time_ns(text: str) -> int | None:
    return _instant(text, TIME_LAYOUT)


def _instant(text: str, layout: str) -> int | None:
    try:
        return parse_go_time(text, layout)[1]
    except BadTime:
        return None


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query; its text in normal form is `str(query)`, by which subscriptions are told apart."""

    conditions: tuple[Condition, ...]

    def __str__(self) -> str:
        return " AND ".join(str(condition) for condition in self.conditions)

    def matches(self, events: Mapping[str, Sequence[str]]) -> bool:
        """Whether an announcement with these flattened events is wanted by a subscription."""
        return bool(events) and all(_met(condition, events) for condition in self.conditions)


def _met(condition: Condition, events: Mapping[str, Sequence[str]]) -> bool:
    values = events.get(condition.tag)
    if values is not None and any(condition.accepts(value) for value in values):
        return True
    # A tag that names an event type alone is held against an empty value.
    prefix = condition.tag + "."
    types = (tag for tag in events if tag.startswith(prefix) and tag.rpartition(".")[0] == condition.tag)
    return next(types, None) is not None and condition.accepts("")


def flatten(events: Iterable[tuple[str, Sequence[tuple[str, str]]]]) -> dict[str, list[str]]:
    """The map `type.key -> values` of events given as (type, attributes), in the order they occur."""
    flat: dict[str, list[str]] = {}
    for kind, attributes in events:
        if not kind:
            continue
        for key, value in attributes:
            if key:
                flat.setdefault(f"{kind}.{key}", []).append(value)
    return flat


def matches_event(conditions: Iterable[Condition], kind: str, attributes: Sequence[tuple[str, str]]) -> bool:
    """Whether one event meets all conditions of a search."""
    return all(
        any(
            condition.tag == f"{kind}.{key}" and condition.accepts_indexed(value)
            for key, value in attributes
            if kind and key
        )
        for condition in conditions
    )


def parse(text: str) -> Query:
    """The query a text stands for; QuerySyntaxError with the original's text otherwise."""
    scanner = _Scanner(text)
    conditions = [_condition(scanner)]
    while True:
        try:
            kind, _ = scanner.next()
        except _End:
            return Query(tuple(conditions))
        except QuerySyntaxError:
            kind = INVALID
        if kind != AND:
            raise QuerySyntaxError(f"offset {scanner.start}: got {kind}, want {_AND_NUMBER}")
        conditions.append(_condition(scanner))


def _condition(scanner: _Scanner) -> Condition:
    _, tag = _require(scanner, (TAG,))
    operator, _ = _require(scanner, _OPERATORS)
    if operator == EXISTS:
        return Condition(tag, operator)
    kind, operand = _require(scanner, _OPERANDS[operator])
    return Condition(tag, operator, kind, operand)


def _require(scanner: _Scanner, wanted: tuple[str, ...]) -> tuple[str, str]:
    try:
        kind, text = scanner.next()
    except _End:
        raise QuerySyntaxError(f"offset {scanner.start}: EOF") from None
    except QuerySyntaxError as error:
        raise QuerySyntaxError(f"offset {scanner.start}: {error}") from None
    if kind in wanted:
        return kind, text
    label = wanted[0] if len(wanted) == 1 else f"{', '.join(wanted[:-1])} or {wanted[-1]}"
    raise QuerySyntaxError(f"offset {scanner.start}: got {kind}, wanted {label}")


class _Scanner:
    """Tokens of a query; `start` is the byte offset of the last one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._bytes = 0
        self.start = 0

    def _peek(self) -> str:
        return self._text[self._at] if self._at < len(self._text) else ""

    def _take(self) -> str:
        char = self._peek()
        if char:
            self._at += 1
            self._bytes += len(char.encode("utf-8", "surrogatepass"))
        return char

    def _while(self, accepted: str | None = None) -> str:
        taken = []
        while (char := self._peek()) and (_is_tag(char) if accepted is None else char in accepted):
            taken.append(self._take())
        return "".join(taken)

    def next(self) -> tuple[str, str]:
        while self._peek().isspace():
            self._take()
        self.start = self._bytes
        char = self._take()
        if not char:
            raise _End
        if char in "0123456789":
            digits = char + self._while("0123456789")
            if self._peek() == ".":
                digits += self._take() + self._while("0123456789")
            return NUMBER, digits
        if char == "_" or char.isalpha() or char.isdigit():
            return self._word(char)
        if char == "'":
            return STRING, self._quoted()
        if char in "<>=":
            if char != "=" and self._peek() == "=":
                char += self._take()
            return {"=": EQ, "<": LT, "<=": LE, ">": GT, ">=": GE}[char], char
        raise QuerySyntaxError(f"invalid input {char} at offset {self._bytes}")

    def _quoted(self) -> str:
        taken = []
        while (char := self._take()) != "'":
            if not char:
                raise _End
            taken.append(char)
        return "".join(taken)

    def _word(self, first: str) -> tuple[str, str]:
        word = first + self._while()
        if word == "TIME" and self._peek() == " ":
            self._take()
            return TIME, _checked_instant(self._while("-T:+Z0123456789"), TIME)
        if word == "DATE" and self._peek() == " ":
            self._take()
            return DATE, _checked_instant(self._while("0123456789-"), DATE)
        return _WORDS.get(word, TAG), word


def _checked_instant(text: str, kind: str) -> str:
    word, layout = ("TIME", TIME_LAYOUT) if kind == TIME else ("DATE", DATE_LAYOUT)
    try:
        year, _ = parse_go_time(text, layout)
    except BadTime as error:
        raise QuerySyntaxError(f"invalid {word} value: {error}") from None
    if not 1900 <= year <= 2999:
        raise QuerySyntaxError(f"{kind} year {year} out of range")
    return text


def _is_tag(char: str) -> bool:
    return char in "._-" or char.isalpha() or char.isdigit()
