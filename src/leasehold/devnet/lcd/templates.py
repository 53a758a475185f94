"""Route templates of `google.api.http`: `{name}` takes a segment, `{name=**}` the rest of the path."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from leasehold.chain.registry import Method

_VARIABLE = re.compile(r"\{([a-z_0-9.]+)(?:=(\*\*|\*))?\}")


@dataclass(frozen=True, slots=True)
class Route:
    """A method behind a template, with the names its variables fill, in order."""

    method: Method
    body: str
    names: tuple[str, ...]

    @property
    def is_queried(self) -> bool:
        """Whether a query string is looked at: where the path and the body leave a field to be filled."""
        fields = self.method.request_type.DESCRIPTOR.fields
        return not self.body and any(field.name not in self.names for field in fields)


@dataclass(slots=True)
class _Node:
    literals: dict[str, _Node] = field(default_factory=dict)
    variable: _Node | None = None
    rest: dict[str, Route] = field(default_factory=dict)
    routes: dict[str, Route] = field(default_factory=dict)


class RouteTable:
    """Finds the route of a verb and a path; where two templates are alike, the earlier one wins, as on a real node."""

    def __init__(self, methods: Iterable[Method]) -> None:
        self._root = _Node()
        self._listed: list[tuple[str, str]] = []
        for method in methods:
            for rule in method.http:
                self._listed.append((rule.verb.upper(), rule.template))
                self._add(rule.verb.upper(), rule.template, Route(method, rule.body, _names(rule.template)))

    def listed(self) -> list[tuple[str, str]]:
        """Verb and template of every route, in order of path."""
        return sorted(self._listed, key=lambda entry: (entry[1], entry[0]))

    def _add(self, verb: str, template: str, route: Route) -> None:
        node = self._root
        for segment in template.strip("/").split("/"):
            match = _VARIABLE.fullmatch(segment)
            if match is None:
                node = node.literals.setdefault(segment, _Node())
            elif match[2] == "**":
                node.rest.setdefault(verb, route)
                return
            else:
                node.variable = node.variable or _Node()
                node = node.variable
        node.routes.setdefault(verb, route)

    def find(self, verb: str, path: str) -> tuple[Route, list[str]] | None:
        """The route of a decoded path, and the values of its variables."""
        if path.rpartition("/")[2].rfind(":") == 0:
            return None
        return self._walk(self._root, verb, path.removeprefix("/").split("/"), [])

    def _walk(self, node: _Node, verb: str, segments: list[str], values: list[str]) -> tuple[Route, list[str]] | None:
        if not segments:
            route = node.routes.get(verb)
            if route is None and (route := node.rest.get(verb)) is not None:
                values = [*values, ""]
            return (route, values) if route is not None else None
        head, tail = segments[0], segments[1:]
        if (child := node.literals.get(head)) is not None and (found := self._walk(child, verb, tail, values)):
            return found
        if node.variable is not None and (found := self._walk(node.variable, verb, tail, [*values, head])):
            return found
        if (route := node.rest.get(verb)) is not None:
            return route, [*values, "/".join(segments)]
        return None


def _names(template: str) -> tuple[str, ...]:
    return tuple(match[1] for match in _VARIABLE.finditer(template))
