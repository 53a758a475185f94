"""The OpenAPI 3.1 document of a registry: there is no second description to fall out of step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from leasehold.serving.envelopes import JSON, reason
from leasehold.serving.parameters import Parameter
from leasehold.serving.routes import Registry, Reply, Route

_REFERENCE = "#/components/schemas/{name}"


def document(registry: Registry, *, servers: Iterable[str] = (), hidden: bool = False) -> dict[str, Any]:
    """The document; hidden (admin) routes are left out unless asked for."""
    routes = [route for route in registry if hidden or not route.hidden]
    schemas = _Schemas(registry, routes)
    paths: dict[str, dict[str, Any]] = {}
    statuses: set[int] = set()
    for route in routes:
        operation = _operation(route, registry, schemas)
        statuses |= {status for status in _error_statuses(route, registry) if not route.errors.get(status)}
        paths.setdefault(route.openapi_path, {})[route.method.lower()] = operation
    envelope = schemas.of(registry.dialect.envelope)
    made: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": registry.title, "version": registry.version},
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "responses": {f"Error{status}": _error(status, "", envelope) for status in sorted(statuses)},
        },
        "tags": [{"name": tag} for tag in dict.fromkeys(tag for route in routes for tag in route.tags)],
    }
    rules = "\n".join(f"- {sentence}" for sentence in registry.conventions)
    if about := "\n\n".join(part for part in (registry.description, rules) if part):
        made["info"]["description"] = about
    if urls := list(servers):
        made["servers"] = [{"url": url} for url in urls]
    return made


class _Schemas:
    """JSON schemas of every type the routes mention, with shared components."""

    def __init__(self, registry: Registry, routes: list[Route]) -> None:
        types: list[Any] = [registry.dialect.envelope]
        for route in routes:
            bodies = (route.body, route.response, *route.responses.values())
            types += [kind for kind in bodies if _describable(kind)]
            types += [parameter.type for parameter in route.parameters]
        found, self.components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
        self._found = dict(zip(map(_key, types), found, strict=True))

    def of(self, kind: Any) -> dict[str, Any]:
        return self._found[_key(kind)] if _describable(kind) else {}


def _key(kind: Any) -> str:
    # Types such as `list[X]` are equal without being identical, and annotated ones may be unhashable.
    return repr(kind)


def _describable(kind: Any) -> bool:
    return kind is not None and kind is not bytes and kind is not Reply


def _operation(route: Route, registry: Registry, schemas: _Schemas) -> dict[str, Any]:
    responses: dict[str, Any] = {str(route.status): _success(route, route.status, route.response, schemas)}
    for status, kind in route.responses.items():
        responses[str(status)] = _success(route, status, kind, schemas)
    if route.method == "GET" and (route.cache.kind == "snapshot" or route.cache.max_age > 0):
        responses["304"] = {"description": reason(304)}
    envelope = schemas.of(registry.dialect.envelope)
    for status in _error_statuses(route, registry):
        sentence = route.errors.get(status, "")
        responses[str(status)] = (
            _error(status, sentence, envelope) if sentence else {"$ref": f"#/components/responses/Error{status}"}
        )
    operation: dict[str, Any] = {"operationId": route.operation_id, "responses": responses}
    if route.summary:
        operation["summary"] = route.summary
    if route.description:
        operation["description"] = route.description
    if route.tags:
        operation["tags"] = list(route.tags)
    if route.parameters:
        operation["parameters"] = [_parameter(parameter, schemas) for parameter in route.parameters]
    if route.body is not None:
        media = "application/octet-stream" if route.body is bytes else JSON
        operation["requestBody"] = {"required": True, "content": {media: {"schema": schemas.of(route.body)}}}
    return operation


def _error_statuses(route: Route, registry: Registry) -> list[int]:
    return sorted({*registry.dialect.everywhere, *route.errors})


def _success(route: Route, status: int, kind: Any, schemas: _Schemas) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": reason(status)}
    headers = {
        name: {"description": about, "schema": {"type": "string"}} for name, about in route.response_headers.items()
    }
    if headers:
        answer["headers"] = headers
    if status not in (204, 304):
        content: dict[str, Any] = {}
        for media in route.produces:
            content[media] = {"schema": schemas.of(kind) if media == JSON else {"type": "string"}}
        if route.examples and JSON in content and status == route.status:
            content[JSON]["examples"] = {name: {"value": value} for name, value in route.examples.items()}
        answer["content"] = content
    return answer


def _error(status: int, sentence: str, envelope: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "description": sentence or reason(status),
        "content": {JSON: {"schema": envelope}},
    }
    if status == 429:
        answer["headers"] = {
            "Retry-After": {"description": "Seconds until a request is allowed", "schema": {"type": "integer"}}
        }
    if status == 405:
        answer["headers"] = {"Allow": {"description": "Methods of this path", "schema": {"type": "string"}}}
    return answer


def _parameter(parameter: Parameter, schemas: _Schemas) -> dict[str, Any]:
    schema = dict(parameter.input.schema) if parameter.input.schema else dict(schemas.of(parameter.type))
    if not parameter.required and parameter.default is not None and not parameter.input.parse:
        schema["default"] = msgspec.to_builtins(parameter.default)
    about = parameter.input.about
    if parameter.input.aliases:
        about = f"{about}{'. ' if about else ''}Also accepted as {', '.join(parameter.input.aliases)}"
    if parameter.input.clamp and parameter.maximum is not None:
        # A larger value is accepted and lowered, so the schema must not forbid it.
        schema.pop("maximum", None)
        about = f"{about}{'. ' if about else ''}At most {parameter.maximum}; larger values are lowered to it"
    made: dict[str, Any] = {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.required or parameter.place == "path",
        "schema": schema,
    }
    if about:
        made["description"] = about
    if parameter.input.example is not None:
        made["example"] = parameter.input.example
    return made
