"""From what an HTTP request asks to what it is answered, without knowing how bytes travel."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Awaitable, Coroutine
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from leasehold.core import logging
from leasehold.core.errors import LeaseholdError
from leasehold.devnet.rpc.arguments import BadArgument, from_params, from_query
from leasehold.devnet.rpc.broadcasting import Panic
from leasehold.devnet.rpc.envelope import (
    INTERNAL,
    INVALID_PARAMS,
    INVALID_REQUEST,
    NOT_FOUND,
    PARSE_ERROR,
    URI_ID,
    Request,
    Unparsable,
    failure,
    read_batch,
    success,
)
from leasehold.devnet.rpc.rendering import encoded
from leasehold.devnet.rpc.table import Method

log = logging.get("rpc")

# Bodies above this size are read in a thread.
LARGE = 65_536

# A per cent sign without two hexadecimal digits after it.
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")

TOO_FEW_ARGUMENTS = "reflect: Call with too few input arguments"


@dataclass(frozen=True, slots=True)
class Answer:
    """A JSON-RPC answer; `ok` tells a result from an error."""

    body: bytes
    ok: bool


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An HTTP answer; `is_cacheable` lets a client keep it for a day, `is_bare` leaves out all but the body's type."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    is_cacheable: bool = False
    is_bare: bool = False
    location: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether its head is one of the two that nearly all answers have."""
        return self.status == 200 and self.content_type == "application/json" and not self.is_bare


def call(method: Method, identity: bytes, values: list[Any]) -> Answer | Coroutine[Any, Any, Answer]:
    """Call a method: its answer, or a coroutine for a method that has to wait."""
    assert method.call is not None
    try:
        result = method.call(*values)
        if inspect.isawaitable(result):
            return _awaited(method, identity, result)
        return Answer(success(identity, encoded(result)), True)
    except Panic:
        raise
    except Exception as error:  # noqa: BLE001 - a caller gets an answer whatever a handler trips over
        return Answer(_failed(method, identity, error), False)


async def _awaited(method: Method, identity: bytes, pending: Awaitable[Any]) -> Answer:
    try:
        return Answer(success(identity, encoded(await pending)), True)
    except Exception as error:  # noqa: BLE001 - as above
        return Answer(_failed(method, identity, error), False)


def _failed(method: Method, identity: bytes, error: Exception) -> bytes:
    if isinstance(error, LeaseholdError):
        return failure(identity, INTERNAL, error.message)
    log.exception("an RPC method failed unexpectedly", method=method.name)
    return failure(identity, INTERNAL, f"{method.name} failed unexpectedly: {type(error).__name__}")


def values_of(method: Method, request: Request) -> list[Any]:
    """Argument values of a request; BadArgument or Panic when there are none to be had."""
    if not request.params:
        if method.arguments:
            raise Panic(TOO_FEW_ARGUMENTS)
        return []
    return from_params(method.arguments, request.params)


class Dispatcher:
    """Answers URI and JSON-RPC requests from a table of methods."""

    def __init__(self, table: dict[str, Method], *, max_batch: int = 20) -> None:
        self.table = table
        self.max_batch = max_batch

    def uri(self, name: str, query: str) -> HttpAnswer | Coroutine[Any, Any, HttpAnswer]:
        """Answer GET /name?query; the name must be in the table."""
        method = self.table[name]
        if method.call is None:
            return HttpAnswer(404, failure(URI_ID, NOT_FOUND))
        try:
            values = from_query(method.arguments, _parameters(query) if query else {})
        except BadArgument as error:
            text = f"error converting http params to arguments: {error.message}"
            return HttpAnswer(500, failure(URI_ID, INVALID_PARAMS, text))
        try:
            answered = call(method, URI_ID, values)
        except Panic as panic:
            return HttpAnswer(500, failure(URI_ID, INTERNAL, str(panic)))
        if isinstance(answered, Answer):
            return _uri_answer(method, values, answered)
        return self._uri_later(method, values, answered)

    async def _uri_later(self, method: Method, values: list[Any], pending: Coroutine[Any, Any, Answer]) -> HttpAnswer:
        return _uri_answer(method, values, await pending)

    def post(self, body: bytes) -> HttpAnswer | Coroutine[Any, Any, HttpAnswer]:
        """Answer a JSON-RPC body, one request or a batch."""
        if len(body) > LARGE:
            return self._post_large(body)
        try:
            return self._post(read_batch(body))
        except Unparsable as error:
            return _unparsable(error)

    async def _post_large(self, body: bytes) -> HttpAnswer:
        # What is wrong with a large body may take a second to find out: meanwhile blocks are sealed.
        try:
            answered = self._post(await asyncio.to_thread(read_batch, body))
        except Unparsable as error:
            return _unparsable(error)
        return answered if isinstance(answered, HttpAnswer) else await answered

    def _post(self, requests: list[Request]) -> HttpAnswer | Coroutine[Any, Any, HttpAnswer]:
        if len(requests) > self.max_batch:
            text = f"batch request exceeds maximum ({self.max_batch}) allowed number of requests"
            return HttpAnswer(200, failure(None, INVALID_REQUEST, text), is_bare=True)
        answers: list[Answer] = []
        is_cacheable = True
        asked = [request for request in requests if request.id is not None]
        for position, request in enumerate(asked):
            try:
                answered, cached = self._one(request)
            except Panic as panic:
                return HttpAnswer(500, failure(URI_ID, INTERNAL, str(panic)))
            is_cacheable = is_cacheable and cached
            if not isinstance(answered, Answer):
                return self._post_later(answers, answered, asked[position + 1 :], is_cacheable)
            answers.append(answered)
        return _batch_answer(answers, is_cacheable)

    async def _post_later(
        self,
        answers: list[Answer],
        pending: Coroutine[Any, Any, Answer],
        rest: list[Request],
        is_cacheable: bool,
    ) -> HttpAnswer:
        answers.append(await pending)
        for request in rest:
            try:
                answered, cached = self._one(request)
            except Panic as panic:
                return HttpAnswer(500, failure(URI_ID, INTERNAL, str(panic)))
            is_cacheable = is_cacheable and cached
            answers.append(answered if isinstance(answered, Answer) else await answered)
        return _batch_answer(answers, is_cacheable)

    def _one(self, request: Request) -> tuple[Answer | Coroutine[Any, Any, Answer], bool]:
        """The answer to a request with an id, and whether it may be kept."""
        identity = request.id or URI_ID
        method = self.table.get(request.method)
        if method is None or method.call is None:
            return Answer(failure(identity, NOT_FOUND), False), False
        try:
            values = values_of(method, request)
        except BadArgument as error:
            text = f"error converting json params to arguments: {error.message}"
            return Answer(failure(identity, INVALID_PARAMS, text), False), False
        return call(method, identity, values), method.may_cache(values)

    def listing(self, host: str) -> HttpAnswer:
        """The page that lists every method."""
        links = []
        for name, method in sorted(self.table.items()):
            names = "&".join(f"{argument.name}=_" for argument in method.arguments)
            link = f"//{host}/{name}?{names}"
            links.append(f'<a href="{link}">{link}</a></br>')
        page = (
            "<html><body><br>Available endpoints:<br><br>Endpoints that require arguments:<br>"
            + "".join(links)
            + "</body></html>"
        )
        return HttpAnswer(200, page.encode(), "text/html")


def _unparsable(error: Unparsable) -> HttpAnswer:
    return HttpAnswer(500, failure(None, PARSE_ERROR, f"error unmarshaling request: {error}"))


def _uri_answer(method: Method, values: list[Any], answered: Answer) -> HttpAnswer:
    if not answered.ok:
        return HttpAnswer(500, answered.body)
    return HttpAnswer(200, answered.body, is_cacheable=method.may_cache(values))


def _batch_answer(answers: list[Answer], is_cacheable: bool) -> HttpAnswer:
    if not answers:
        return HttpAnswer(200, b"", "")
    if len(answers) == 1:
        return HttpAnswer(200, answers[0].body, is_cacheable=is_cacheable)
    return HttpAnswer(200, b"[" + b",".join(answer.body for answer in answers) + b"]", is_cacheable=is_cacheable)


def _parameters(query: str) -> dict[str, str]:
    """URI parameters; of several with one name the first counts, and what can't be unescaped is dropped."""
    pairs = "&".join(pair for pair in query.split("&") if ";" not in pair and not _BAD_ESCAPE.search(pair))
    found: dict[str, str] = {}
    for name, value in parse_qsl(pairs, keep_blank_values=True, errors="surrogateescape"):
        found.setdefault(name, value)
    return found
