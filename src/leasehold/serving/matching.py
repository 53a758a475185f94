"""From a raw request path to a declared route: a tree of segments in which fixed text wins over a parameter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from leasehold.serving.parameters import decode_component
from leasehold.serving.routes import Route

_MAX_SEGMENTS = 64


@dataclass(slots=True)
class _Node:
    fixed: dict[str, _Node] = field(default_factory=dict)
    parameter: _Node | None = None
    routes: dict[str, Route] = field(default_factory=dict)
    rest: dict[str, Route] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Match:
    """The routes of a path by method, and the decoded values of its placeholders in order."""

    routes: dict[str, Route]
    values: tuple[str, ...]

    @property
    def allowed(self) -> tuple[str, ...]:
        """Methods for the Allow header."""
        return tuple(sorted({*self.routes, "OPTIONS", *(("HEAD",) if "GET" in self.routes else ())}))

    def route(self, method: str) -> Route | None:
        return self.routes.get("GET" if method == "HEAD" and "HEAD" not in self.routes else method)

    def path_values(self, route: Route) -> dict[str, str]:
        if not self.values:
            return {}
        names = [segment[1:-1].rstrip("*") for segment in route.path.split("/") if segment.startswith("{")]
        return dict(zip(names, self.values, strict=True))


class Matcher:
    """All paths of an API. A parameter is exactly one segment (`{name*}`, at the end, any number of them) and is
    decoded after the path was split, so an encoded slash stays inside its segment."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = _Node()
        # Paths without parameters, as nearly everybody spells them.
        self._plain: dict[bytes, Match] = {}
        for route in routes:
            self._insert(route)

    def match(self, raw_path: bytes) -> Match | None:
        """Routes of a raw path, None for an unknown one; InvalidInput where it can't be decoded."""
        plain = self._plain.get(raw_path)
        if plain is not None:
            return plain
        parts = raw_path.split(b"/")
        if parts[0] or len(parts) > _MAX_SEGMENTS:
            return None
        segments = [decode_component(part) for part in parts[1:]]
        return self._walk(self._root, segments, 0, ())

    def _walk(self, node: _Node, segments: list[str], index: int, values: tuple[str, ...]) -> Match | None:
        if index == len(segments):
            return Match(node.routes, values) if node.routes else None
        segment = segments[index]
        fixed = node.fixed.get(segment)
        if fixed is not None:
            found = self._walk(fixed, segments, index + 1, values)
            if found is not None:
                return found
        if node.parameter is not None and segment:
            found = self._walk(node.parameter, segments, index + 1, (*values, segment))
            if found is not None:
                return found
        if node.rest and segment:
            return Match(node.rest, (*values, "/".join(segments[index:])))
        return None

    def _insert(self, route: Route) -> None:
        node = self._root
        segments = route.path.split("/")[1:]
        for position, segment in enumerate(segments):
            if segment.startswith("{") and segment.endswith("*}"):
                if position != len(segments) - 1:
                    raise ValueError(f"{route.path}: a rest parameter stands at the end")
                node.rest[route.method] = route
                return
            if segment.startswith("{"):
                node.parameter = node.parameter or _Node()
                node = node.parameter
            elif "{" in segment:
                raise ValueError(f"{route.path}: a parameter is a whole segment")
            else:
                node = node.fixed.setdefault(segment, _Node())
        node.routes[route.method] = route
        if "{" not in route.path:
            self._plain[route.path.encode()] = Match(node.routes, ())
