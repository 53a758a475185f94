"""What an upstream can do wrong, and how much of it a caller of ours may know.

UpstreamFailure
└── ServiceFailure    502  an HTTP service: `<name>: <what was asked>: <status or reason>`
    └── ChainFailure  502  the chain's own endpoints, with a code of its own

An upstream's address and the body it sent stay inside: they are attributes for us, never part of the message.
"""

from __future__ import annotations

from http import HTTPStatus

from leasehold.core.errors import UpstreamFailure


class ServiceFailure(UpstreamFailure):
    """An HTTP service failed; `reply_status` is 0 where it did not answer at all."""

    def __init__(
        self, detail: str, *, upstream: str, context: str = "", reply_status: int = 0, reply_body: bytes = b""
    ) -> None:
        super().__init__(self.phrase(upstream, context, detail), upstream=upstream)
        self.reply_status = reply_status
        self.reply_body = reply_body

    @staticmethod
    def phrase(upstream: str, context: str, detail: str) -> str:
        return ": ".join(part for part in (upstream, context, detail) if part)


class ChainFailure(ServiceFailure):
    """The chain's RPC, LCD or an SVM node failed."""

    code = "CHAIN_ERROR"

    @staticmethod
    def phrase(upstream: str, context: str, detail: str) -> str:
        return f"{upstream}: {detail}"


def status_text(status: int) -> str:
    """`HTTP 404 Not Found`."""
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"
