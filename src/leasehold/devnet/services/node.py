"""cosmos.base.node.v1beta1.Service: how the node is configured and where it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leasehold.core import fixed_point
from leasehold.core.clock import NANOSECONDS
from leasehold.devnet.app.application import ChainApplication
from leasehold.devnet.app.context import Context
from leasehold.devnet.consensus.node import Node

_SERVICE = "/cosmos.base.node.v1beta1.Service/"
_PACKAGE = "cosmos.base.node.v1beta1."


class NodeService:
    """The node's own figures."""

    def __init__(self, app: ChainApplication, node: Node, minimum_gas_price: str) -> None:
        self._app = app
        self._node = node
        self._price = fixed_point.text(fixed_point.parse(minimum_gas_price)) + app.identity.base_denom

    def handlers(self) -> dict[str, Callable[[Context, Any], Any]]:
        return {_SERVICE + "Config": self.config, _SERVICE + "Status": self.status}

    def config(self, ctx: Context, request: Any) -> Any:
        window = self._node.pruning_window
        return self._app.registry.new(
            _PACKAGE + "ConfigResponse",
            minimum_gas_price=self._price,
            pruning_keep_recent=str(window),
            pruning_interval="10" if window else "0",
            halt_height=0,
        )

    def status(self, ctx: Context, request: Any) -> Any:
        seconds, nanos = divmod(ctx.block.time_ns, NANOSECONDS)
        stored = self._node.store.block(ctx.block.height)
        header = stored.block.header if stored is not None else None
        return self._app.registry.new(
            _PACKAGE + "StatusResponse",
            height=ctx.block.height,
            timestamp={"seconds": seconds, "nanos": nanos},
            app_hash=header.app_hash if header else b"",
            validator_hash=header.next_validators_hash if header else b"",
        )
