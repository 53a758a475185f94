"""Checking answers against the OpenAPI document, for tests: what is on the wire must be what is described."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from leasehold.core.errors import InvalidInput
from leasehold.serving.matching import Matcher
from leasehold.serving.openapi import document
from leasehold.serving.routes import Registry


class ContractViolation(AssertionError):
    """An answer that its API's document does not allow."""


class Contract:
    """The document of a registry, hidden routes included, as something answers can be held against."""

    def __init__(self, registry: Registry) -> None:
        self.document = document(registry, hidden=True)
        self._matcher = Matcher(registry)

    def validate(self, method: str, target: str, status: int, content_type: str | None, body: bytes) -> None:
        """Raise ContractViolation unless the answer to a request is a declared one and fits its schema."""
        place = f"{method} {target} -> {status}"
        try:
            match = self._matcher.match(target.partition("?")[0].encode())
        except InvalidInput:
            match = None
        route = match.route(method) if match else None
        if route is None:
            if status not in (400, 404, 405, 429):
                raise ContractViolation(f"{place}: no such route")
            return
        operation = self.document["paths"][route.openapi_path][route.method.lower()]
        answer = operation["responses"].get(str(status))
        if answer is None:
            raise ContractViolation(f"{place}: undeclared status")
        answer = self._resolved(answer)
        content = answer.get("content")
        if method == "HEAD" or not content:
            return
        media = (content_type or "").partition(";")[0].strip()
        if media not in content:
            raise ContractViolation(f"{place}: undeclared content type {media!r}")
        if media == "application/json":
            self.check(msgspec.json.decode(body), content[media]["schema"], f"{place} $")

    def check(self, value: Any, schema: dict[str, Any], place: str) -> None:
        """Hold a JSON value against a schema; members a schema doesn't name are violations too."""
        schema = self._resolved(schema)
        if "anyOf" in schema:
            self._check_any(value, schema["anyOf"], place)
        if "enum" in schema and value not in schema["enum"]:
            raise ContractViolation(f"{place}: {value!r} is none of {schema['enum']}")
        if "const" in schema and value != schema["const"]:
            raise ContractViolation(f"{place}: {value!r} is not {schema['const']!r}")
        kind = schema.get("type")
        if kind is not None and not _is(value, kind):
            raise ContractViolation(f"{place}: {value!r:.80} is not {kind}")
        if isinstance(value, dict):
            self._check_object(value, schema, place)
        elif isinstance(value, list):
            self._check_array(value, schema, place)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
                raise ContractViolation(f"{place}: {value} is out of bounds")
        elif isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
            raise ContractViolation(f"{place}: {value!r} does not match {schema['pattern']}")

    def _check_any(self, value: Any, choices: list[dict[str, Any]], place: str) -> None:
        problems = []
        for choice in choices:
            try:
                self.check(value, choice, place)
                return
            except ContractViolation as problem:
                problems.append(str(problem))
        raise ContractViolation(f"{place}: fits no alternative: {'; '.join(problems)}")

    def _check_object(self, value: dict[str, Any], schema: dict[str, Any], place: str) -> None:
        properties = schema.get("properties")
        missing = set(schema.get("required", ())) - set(value)
        if missing:
            raise ContractViolation(f"{place}: lacks {sorted(missing)}")
        rest = schema.get("additionalProperties", properties is None)
        for name, member in value.items():
            if properties and name in properties:
                self.check(member, properties[name], f"{place}.{name}")
            elif rest is False:
                raise ContractViolation(f"{place}: undeclared member {name!r}")
            elif isinstance(rest, dict):
                self.check(member, rest, f"{place}.{name}")

    def _check_array(self, value: list[Any], schema: dict[str, Any], place: str) -> None:
        fixed = schema.get("prefixItems", [])
        if len(value) < schema.get("minItems", 0) or len(value) > schema.get("maxItems", len(value)):
            raise ContractViolation(f"{place}: {len(value)} items")
        for index, item in enumerate(value):
            wanted = fixed[index] if index < len(fixed) else schema.get("items")
            if isinstance(wanted, dict):
                self.check(item, wanted, f"{place}[{index}]")

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in schema:
            target: Any = self.document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            schema = target
        return schema


def _is(value: Any, kind: str) -> bool:
    match kind:
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "null":
            return value is None
        case _:
            return isinstance(value, {"object": dict, "array": list, "string": str, "boolean": bool}[kind])
