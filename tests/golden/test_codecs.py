"""The codecs agree with what a real node wrote: LCD bodies, descriptors, sign bytes, decode errors."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from leasehold.chain.json_codec import json_codec
from leasehold.chain.registry import Method

GOLDEN = Path(os.environ.get("LEASEHOLD_GOLDEN") or Path(__file__).parents[3] / "shared" / "golden") / "chain"
CODEC = json_codec("nolus")
TYPES = CODEC.types
SHORTENED = "left out"

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not GOLDEN.is_dir(), reason="no recordings: set LEASEHOLD_GOLDEN"),
]


def cases(folder: str) -> Iterator[dict[str, Any]]:
    for path in sorted((GOLDEN / folder).glob("*.json")):
        content = json.loads(path.read_text())
        for case in content.get("cases", []) if isinstance(content, dict) else []:
            yield {"file": path.name, **case}


def wire_text(value: object) -> str:
    """The text a node wrote, rebuilt from its parsed form."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", text)


@cache
def routes() -> list[tuple[str, re.Pattern[str], Method]]:
    return [(rule.verb, template(rule.template), method) for method in TYPES.methods for rule in method.http]


def template(text: str) -> re.Pattern[str]:
    text = re.sub(r"\{[\w.]+=\*\*\}", ".+", text)
    return re.compile(re.sub(r"\{[\w.]+\}", "[^/]*", text))


def rendered_as(method: Method, body: str) -> str:
    message = CODEC.decode(method.response_type, body.encode())
    return CODEC.text(TYPES.parse(method.response_type, message.SerializeToString()))


def test_recorded_lcd_bodies_survive_the_wire() -> None:
    """Each recorded success body, read into its message, sent through protobuf and written again, is itself."""
    tried = 0
    for case in cases("lcd"):
        request, response = case["request"], case["response"]
        if response["status"] != 200 or "body" not in response or SHORTENED in json.dumps(response["body"]):
            continue
        path = request["path"].split("?")[0]
        methods = [
            method for verb, pattern, method in routes() if verb == request["method"] and pattern.fullmatch(path)
        ]
        if not methods:
            continue
        body = wire_text(response["body"])
        assert any(rendered_as(method, body) == body for method in methods), (case["file"], case["case"])
        tried += 1
    assert tried > 100


def test_recorded_grpc_answers_render_as_the_lcd_rendered_them() -> None:
    """Protobuf answers for which the same request was recorded on the LCD, with the same state, have that body."""
    bodies = {
        (method.path, wire_text(case["response"]["body"]))
        for case in cases("lcd")
        if case["response"]["status"] == 200 and "body" in case["response"]
        for verb, pattern, method in routes()
        if verb == case["request"]["method"] and pattern.fullmatch(case["request"]["path"].split("?")[0])
    }
    agreed = 0
    for case in cases("grpc"):
        encoded = case["response"].get("response_base64") if isinstance(case.get("response"), dict) else None
        method = TYPES.method_by_path.get(case.get("request", {}).get("method", ""))
        if not encoded or method is None:
            continue
        text = CODEC.text(TYPES.parse(method.response_type, base64.b64decode(encoded)))
        json.loads(text)
        agreed += (method.path, text) in bodies
    assert agreed > 20


def test_every_listed_service_is_defined() -> None:
    """What reflection listed on a real node can be listed here."""
    listed = json.loads((GOLDEN / "grpc" / "services.json").read_text())["services_listed_by_v1alpha"]
    assert set(listed) <= set(TYPES.service_names)
