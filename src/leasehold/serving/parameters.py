"""Path and query parameters: declared as fields of a msgspec Struct, read the same way on every route.

    class Page(msgspec.Struct, frozen=True):
        address: Annotated[str, Input(aliases=("owner",), about="wallet")]
        skip: Annotated[int, msgspec.Meta(ge=0)] = 0
        limit: Annotated[int, msgspec.Meta(ge=0, le=100), Input(clamp=True)] = 10

A field named in the route's path template is a path parameter, any other a query parameter. A repeated parameter
(or one given together with its alias), bad percent-encoding, bad UTF-8 and control characters are refused; unknown
parameters are ignored.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from urllib.parse import quote

import msgspec

from leasehold.core.errors import InvalidInput

_BROKEN_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
# NUL never reaches a text column, and no parameter has a use for the other control characters.
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_LARGEST = 2**63 - 1
MAX_PARAMETERS = 100


@dataclass(frozen=True, slots=True)
class Input:
    """What a field's type can't say: put it into `Annotated`.

    `clamp` moves a number above the declared maximum down to it (below the minimum is refused either way). `parse`
    turns the text into the field's value and raises InvalidInput or ValueError; `schema` then describes the text.
    """

    aliases: tuple[str, ...] = ()
    about: str = ""
    example: Any = None
    clamp: bool = False
    parse: Callable[[str], Any] | None = None
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One declared parameter of a route."""

    name: str
    attribute: str
    place: str
    type: Any
    required: bool
    default: Any
    input: Input
    maximum: int | float | None
    repeatable: bool
    # The type of one value without annotations, and all names it may be given by.
    bare: Any
    names: tuple[str, ...]

    def read(self, texts: Sequence[str]) -> Any:
        """Value of the given texts, its type not yet checked; InvalidInput names the parameter."""
        if self.repeatable:
            return [self._single(text) for text in texts]
        if len(texts) > 1:
            raise InvalidInput(f"{self.name} is given more than once", field=self.name)
        return self._single(texts[0])

    def _single(self, text: str) -> Any:
        if self.bare is str and self.input.parse is None:
            return text
        if get_origin(self.bare) is Literal and self.input.parse is None:
            return self._option(text)
        try:
            value = self.input.parse(text) if self.input.parse else _from_text(text, self.bare)
            if self.input.clamp and self.maximum is not None and value > self.maximum:
                value = type(value)(self.maximum)
            return value
        except InvalidInput as error:
            if error.field:
                raise
            raise InvalidInput(error.message, field=self.name) from None
        except (ValueError, TypeError) as error:
            raise self._refusal(error) from None

    def _option(self, text: str) -> Any:
        options = {str(option): option for option in get_args(self.bare)}
        if text not in options:
            known = ", ".join(options)
            raise InvalidInput(f"Invalid option {self.name} '{text[:64]}'. Valid options: {known}", field=self.name)
        return options[text]

    def check(self, value: Any) -> None:
        """InvalidInput, naming the parameter, where a value is not of its type."""
        (item,) = get_args(_bare(self.type)) if self.repeatable else (self.type,)
        try:
            for each in value if self.repeatable else (value,):
                msgspec.convert(each, item)
        except (ValueError, TypeError) as error:
            raise self._refusal(error) from None

    def _refusal(self, error: BaseException) -> InvalidInput:
        return InvalidInput(f"invalid {self.name}: {_first_line(error)}", field=self.name)

    def text(self, value: Any) -> str:
        """Canonical text of a value, as it stands in a snapshot's key."""
        if isinstance(value, bool):
            return "true" if value else "false"
        return value if isinstance(value, str) else str(msgspec.to_builtins(value, str_keys=True))


def declared(params: type[msgspec.Struct], path_names: tuple[str, ...]) -> tuple[Parameter, ...]:
    """Parameters of a Struct type, in order of declaration."""
    found = []
    for field in msgspec.structs.fields(params):
        bare = _bare(field.type)
        marker = next((note for note in _notes(field.type) if isinstance(note, Input)), Input())
        maximum = next((n.le for n in _notes(field.type) if isinstance(n, msgspec.Meta) and n.le is not None), None)
        found.append(
            Parameter(
                name=field.encode_name,
                attribute=field.name,
                place="path" if field.encode_name in path_names else "query",
                type=field.type,
                required=field.required,
                default=None if field.required else field.default,
                input=marker,
                maximum=maximum,
                repeatable=get_origin(bare) is list,
                bare=_bare(get_args(bare)[0]) if get_origin(bare) is list else bare,
                names=(field.encode_name, *marker.aliases),
            )
        )
    missing = set(path_names) - {parameter.name for parameter in found}
    if missing:
        raise ValueError(f"{params.__name__} lacks path parameters {sorted(missing)}")
    return tuple(found)


def decode_component(raw: bytes, *, field: str | None = None) -> str:
    """Text of a percent-encoded component, strictly: no broken escape, no bad UTF-8, no control character."""
    if b"%" in raw:
        if _BROKEN_ESCAPE.search(raw):
            raise InvalidInput("bad percent-encoding", field=field)
        raw = _ESCAPE.sub(lambda match: bytes((int(match[1], 16),)), raw)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise InvalidInput("not valid UTF-8", field=field) from None
    if not text.isprintable() and _CONTROL.search(text):
        raise InvalidInput("control characters are not allowed", field=field)
    return text


def parse_query(raw: bytes) -> list[tuple[str, str]]:
    """Decoded name and value of every member of a query string, in order."""
    if not raw:
        return []
    members = raw.split(b"&")
    if len(members) > MAX_PARAMETERS:
        raise InvalidInput(f"more than {MAX_PARAMETERS} query parameters")
    if raw.isascii() and b"%" not in raw and b"+" not in raw and (text := raw.decode()).isprintable():
        # What nearly every query is like: nothing in it to decode.
        plain = [member.partition("=") for member in text.split("&") if member]
        return [(name, value) for name, _, value in plain]
    pairs = []
    for member in members:
        if not member:
            continue
        name, _, value = member.partition(b"=")
        key = decode_component(name.replace(b"+", b" "))
        pairs.append((key, decode_component(value.replace(b"+", b" "), field=key)))
    return pairs


def read(
    struct: type[msgspec.Struct],
    parameters: tuple[Parameter, ...],
    path: Mapping[str, str],
    query: list[tuple[str, str]],
) -> Any:
    """An instance of `struct` from decoded path values and query members."""
    given: dict[str, list[str]] = {}
    for name, text in query:
        given.setdefault(name, []).append(text)
    values: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.place == "path":
            values[parameter.name] = parameter.read([path[parameter.name]])
            continue
        texts: Sequence[str] = given.get(parameter.name, ())
        if len(parameter.names) > 1:
            texts = [text for name in parameter.names for text in given.get(name, ())]
        if texts:
            values[parameter.name] = parameter.read(texts)
        elif parameter.required:
            raise InvalidInput(f"{parameter.name} query parameter is required", field=parameter.name)
    try:
        return msgspec.convert(values, struct)
    except msgspec.ValidationError:
        # All at once is faster, one by one says which is wrong.
        for parameter in parameters:
            if parameter.name in values:
                parameter.check(values[parameter.name])
        raise


def canonical_query(parameters: tuple[Parameter, ...], params: Any) -> str:
    """Query string with the declared parameters that differ from their defaults, in order of declaration."""
    members = []
    for parameter in parameters:
        value = getattr(params, parameter.attribute)
        if parameter.place == "query" and (parameter.required or value != parameter.default):
            for item in value if parameter.repeatable else (value,):
                members.append(f"{quote(parameter.name, safe='')}={quote(parameter.text(item), safe='')}")
    return "&".join(members)


def _from_text(text: str, bare: Any) -> Any:
    if bare is str:
        return text
    if bare is int:
        if not _INTEGER.fullmatch(text) or not -_LARGEST <= int(text) <= _LARGEST:
            raise ValueError("expected an integer of 64 bits")
        return int(text)
    if bare is bool:
        if text not in ("true", "false"):
            raise ValueError("expected true or false")
        return text == "true"
    return msgspec.convert(text, bare, strict=False)


def _bare(kind: Any) -> Any:
    """The type without annotations and without None."""
    if get_origin(kind) is Annotated:
        return _bare(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        members = [member for member in get_args(kind) if member is not type(None)]
        if len(members) == 1:
            return _bare(members[0])
    return kind


def _notes(kind: Any) -> tuple[Any, ...]:
    """Every annotation of a type, also those inside an optional."""
    if get_origin(kind) is Annotated:
        inner, *notes = get_args(kind)
        return (*notes, *_notes(inner))
    if get_origin(kind) in (Union, types.UnionType):
        return tuple(note for member in get_args(kind) for note in _notes(member))
    return ()


def _first_line(error: BaseException) -> str:
    return str(error).split("\n", 1)[0]
