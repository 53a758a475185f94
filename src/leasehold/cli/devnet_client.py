"""Talking to the control port of a running devnet."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

from leasehold.core.errors import LeaseholdError, Unavailable
from leasehold.core.settings import Settings

_HOST = "127.0.0.1"
# Sealing many blocks takes its time.
PATIENCE_SECONDS = 3600.0


class Refused(LeaseholdError):
    """Control said no; the message says why."""

    exit_code = 2


class ControlClient:
    """The control port of the devnet these settings describe."""

    def __init__(self, settings: Settings) -> None:
        self._url = f"http://{_HOST}:{settings.port('control')}/control/"

    def get(self, name: str) -> Any:
        return self._ask(urllib.request.Request(self._url + name))

    def post(self, route: str, /, **body: Any) -> Any:
        """What control answers to a wish; Refused when it says no."""
        data = json.dumps({key: value for key, value in body.items() if value is not None}).encode()
        headers = {"Content-Type": "application/json"}
        return self._ask(urllib.request.Request(self._url + route, data, headers))

    def _ask(self, request: urllib.request.Request) -> Any:
        # Loopback is never behind a proxy, whatever the environment says.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=PATIENCE_SECONDS) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                raise Refused(_message(error.read())) from None
        except OSError as error:
            reason = getattr(error, "reason", error)
            raise Unavailable(
                f"no devnet answers at {self._url}: {reason}", hint="run `leasehold devnet` or `leasehold up` first"
            ) from None


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace")[:500]
