"""What the description says is what the API does, also for requests nobody thought of."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlencode

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core import NOT_SET
from tests.unit.data_api.served_history import Client

from leasehold.serving.connection import MAX_TARGET

EXAMPLES = 2
_CALM = settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))


@pytest.mark.conformance
def test_generated_requests_get_declared_answers(client: Client) -> None:
    """Requests made from the description, valid and invalid, never get a 5xx or an answer it does not declare."""
    schema = schemathesis.openapi.from_dict(client.json("/openapi.json"))
    asked: dict[tuple[str, str], int] = {}
    for result in schema.get_all_operations():
        operation = result.ok()
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            strategy = operation.as_strategy(generation_mode=mode)
            place = operation.method.upper(), operation.path
            asked[place] = asked.get(place, 0) + _try(client, operation.method.upper(), strategy)
    assert set(asked) == {(route.method, route.openapi_path) for route in client.application.registry}
    assert all(asked.values()), [place for place, count in asked.items() if not count]
    assert sum(asked.values()) > 150


def _try(client: Client, method: str, strategy: Any) -> int:
    count = 0

    @_CALM
    @given(st.data())
    def check(data: st.DataObject) -> None:
        nonlocal count
        case = data.draw(strategy)
        path = case.formatted_path
        query = urlencode({name: value for name, value in (case.query or {}).items() if value is not None}, doseq=True)
        body = None if case.body in (None, NOT_SET) else json.dumps(case.body, default=str).encode()
        target = path + (f"?{query}" if query else "")
        if len(target) > MAX_TARGET:
            return
        try:
            answer = client.ask(method, target, body, {"Content-Type": "application/json"} if body else {})
        except (http.client.InvalidURL, UnicodeError, ValueError):
            return
        assert answer.status < 500 or target.startswith("/ready"), (method, target, answer.body)
        count += 1

    try:
        check()
    except Unsatisfiable:
        # A route without parameters can't be asked wrongly.
        return 0
    return count
