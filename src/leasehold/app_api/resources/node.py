"""The node: which software it runs and where the chain stands."""

from __future__ import annotations

import msgspec

from leasehold.app_api.app import App
from leasehold.serving.routes import Cache, PlainRequest, Registry


class NodeInfoResponse(msgspec.Struct):
    """Version of the chain's software; `network` is the chain's name, not its id."""

    version: str
    network: str


class NetworkStatusResponse(msgspec.Struct):
    """The chain id, the newest block, and whether the node is still catching up."""

    network: str
    latest_block_height: str
    latest_block_time: str
    catching_up: bool


def declare(api: Registry, app: App) -> None:
    """The routes of the node."""

    @api.get(
        "/api/node/info",
        operation_id="get_node_info",
        summary="Software of the chain",
        tags=("node",),
        cache=Cache.live(30),
        errors=(502,),
    )
    async def info(request: PlainRequest) -> NodeInfoResponse:
        return NodeInfoResponse(await app.upstreams.node.version(), app.settings.identity.namespace)

    @api.get(
        "/api/node/status", operation_id="get_network_status", summary="Newest block", tags=("node",), errors=(502,)
    )
    async def status(request: PlainRequest) -> NetworkStatusResponse:
        found = await app.upstreams.node.status()
        sync = found.sync_info
        return NetworkStatusResponse(
            found.node_info.network, sync.latest_block_height, sync.latest_block_time, sync.catching_up
        )
