"""Asking over HTTP as recorded, byte for byte, and comparing status, headers, layout and body."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError
from tests.golden.surface_cases import Case
from tests.golden.surface_judgement import differences, form, layout

from leasehold.chain.json_codec import JsonCodec
from leasehold.chain.registry import Registry

TIMEOUT = 60.0
_LEFT_OUT = re.compile(r"<left out: string of (\d+) characters, sha256 ([0-9a-f]{64}), begins (.)\3+")
_CUT = re.compile(r"(.)\.\.\.<(\d+) chars>$")
# These belong to the moment; whether they are there is compared, not what they say.
_OF_THE_MOMENT = {"date", "x-server-time"}
# How a body is framed concerns the connection only.
_FRAMING = ("content-length", "transfer-encoding")


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: headers by lower-case name, repeated ones joined."""

    status: int
    headers: dict[str, str]
    body: bytes


class HttpClient:
    """One connection that is kept, as the recording client kept its own; reopened when the server closed it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def ask(self, request: dict[str, Any]) -> Reply:
        """Send a recorded request; tried once more when a kept connection had been closed meanwhile."""
        data = _encoded(request)
        fresh = self._streams is None
        try:
            return await asyncio.wait_for(self._exchange(data, request["method"]), TIMEOUT)
        except (ConnectionError, asyncio.IncompleteReadError):
            await self.close()
            if fresh:
                raise
        return await asyncio.wait_for(self._exchange(data, request["method"]), TIMEOUT)

    async def _exchange(self, data: bytes, method: str) -> Reply:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=2**26)
        reader, writer = self._streams
        writer.write(data)
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = int(head[0].split(" ")[1])
        headers: dict[str, str] = {}
        for line in head[1:-2]:
            name, _, value = line.partition(":")
            name, value = name.strip().lower(), value.strip()
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        body = b"" if method == "HEAD" or status in (204, 304) else await _body(reader, headers)
        if headers.get("connection") == "close":
            await self.close()
        return Reply(status, headers, body)


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding") == "chunked":
        chunks = []
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            chunks.append((await reader.readexactly(size + 2))[:-2])
        while await reader.readuntil(b"\r\n") != b"\r\n":
            pass
        return b"".join(chunks)
    if "content-length" in headers:
        return await reader.readexactly(int(headers["content-length"]))
    return await reader.read()


def _encoded(request: dict[str, Any]) -> bytes:
    headers = {"Host": "127.0.0.1", **(request.get("headers") or {})}
    body = _request_body(request)
    if body is not None:
        headers["Content-Length"] = str(len(body))
    lines = [f"{request['method']} {_target(request['path'])} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


def _target(path: str) -> str:
    """A path as it went over the wire: blanks and quotes were escaped by the recording client."""
    return re.sub(r"[^!#-~]", lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), path)


def _request_body(request: dict[str, Any]) -> bytes | None:
    if "body_text" in request and "body" not in request:
        return _completed(request["body_text"]).encode()
    if "body" in request:
        return json.dumps(_restored(request["body"])).encode()
    return None


def _restored(value: Any) -> Any:
    """A request whose long strings of one letter were left out, as it was."""
    if isinstance(value, dict):
        return {key: _restored(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_restored(member) for member in value]
    found = _LEFT_OUT.match(value) if isinstance(value, str) else None
    return found[3] * int(found[1]) if found else value


def _completed(text: str) -> str:
    """A JSON text of which only the beginning was kept, as long as it was: its last string filled, all closed."""
    found = _CUT.search(text)
    if found is None:
        return text
    kept = text[: found.start() + 1]
    end = '"' + "}" * (kept.count("{") - kept.count("}"))
    return kept + found[1] * (int(found[2]) - len(kept) - len(end)) + end


class HttpJudge:
    """Compares replies of RPC and LCD with the recorded ones."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._codec = JsonCodec(registry)

    def judge(self, case: Case, reply: Reply) -> list[str]:
        recorded = case.response
        lines = []
        if recorded["status"] != reply.status:
            lines.append(f"status {recorded['status']} recorded, {reply.status} here: {reply.body[:200]!r}")
        lines += self._headers(recorded["headers"], reply.headers)
        lines += self._body(case, reply)
        if _CUT.search(str(case.request.get("body_text"))):
            # What was cut off the request decided the hash.
            lines = [line for line in lines if not line.startswith("result.hash:")]
        return lines

    def _headers(self, recorded: dict[str, str], ours: dict[str, str]) -> list[str]:
        theirs = {name.lower(): value for name, value in recorded.items()}
        mine = dict(ours)
        for name in _FRAMING:
            theirs.pop(name, None)
            mine.pop(name, None)
        lines = []
        for name in sorted(theirs | mine):
            one, other = theirs.get(name), mine.get(name)
            if (
                one is None
                or other is None
                or (one != other and (name not in _OF_THE_MOMENT or (form(one) != form(other))))
            ):
                lines.append(f"header {name}: {one!r} recorded, {other!r} here")
        return lines

    def _body(self, case: Case, reply: Reply) -> list[str]:
        recorded = case.response
        text = reply.body.decode("utf-8", "replace")
        if "body" not in recorded:
            if "note" in recorded:
                return []
            expected = recorded.get("body_text", "")
            return (
                [] if _plain(expected) == _plain(text) else [f"text {expected[:200]!r} recorded, {text[:200]!r} here"]
            )
        try:
            parsed = json.loads(text)
        except ValueError:
            return [f"no JSON: {text[:200]!r}"]
        lines = []
        if recorded["body_format"] != layout(text):
            lines.append(f"written {recorded['body_format']} recorded, {layout(text)} here")
        if case.surface == "rpc":
            return lines + self.rpc_differences(case.request.get("body"), recorded["body"], parsed)
        return lines + differences(without_version(recorded["body"]), without_version(parsed))

    def rpc_differences(self, request: Any, recorded: Any, ours: Any) -> list[str]:
        """Differences of two JSON-RPC answers; values of queries are compared as messages."""
        if _value(recorded) is not None and _value(ours) is not None:
            recorded, ours = (
                {**answer, "result": {"response": without_version(answer["result"]["response"])}}
                for answer in (recorded, ours)
            )
        path = _query_path(request)
        if path is not None and _value(recorded) != _value(ours):
            recorded, ours = self._opened(path, recorded), self._opened(path, ours)
        return differences(recorded, ours)

    def _opened(self, path: str, answer: Any) -> Any:
        method = self._registry.method_by_path.get(path)
        value = _value(answer)
        if method is None or value is None:
            return answer
        try:
            decoded = json.loads(self._codec.encode(method.response_type.FromString(base64.b64decode(value))))
        except DecodeError:
            return answer
        response = {**answer["result"]["response"], "value": decoded}
        return {**answer, "result": {"response": response}}


def _plain(text: str) -> str:
    """A text without the address of the machine it names."""
    return re.sub(r"//127\.0\.0\.1(:\d+)?/|//[a-z0-9.]+:\d+/", "//host/", text)


def _query_path(request: Any) -> str | None:
    if not isinstance(request, dict) or request.get("method") != "abci_query":
        return None
    params = request.get("params")
    return params.get("path") if isinstance(params, dict) else None


def without_version(response: Any) -> Any:
    """The answer of a query, without the version of the software if that is what it tells."""
    value = response.get("value") if isinstance(response, dict) else None
    try:
        plain = base64.b64decode(value).decode() if isinstance(value, str) else ""
    except ValueError:
        return response
    return {**response, "value": "version"} if re.fullmatch(r"\d+\.\d+\.\d+[\w.+-]*", plain) else response


def _value(answer: Any) -> str | None:
    result = answer.get("result") if isinstance(answer, dict) else None
    response = result.get("response") if isinstance(result, dict) else None
    return response.get("value") if isinstance(response, dict) else None
