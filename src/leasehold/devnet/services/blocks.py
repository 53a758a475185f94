"""cosmos.base.tendermint.v1beta1.Service: blocks, validator sets and node information."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

from leasehold import __version__
from leasehold.chain.comet.validators import ValidatorSet
from leasehold.core.addresses import Bech32Prefixes
from leasehold.devnet.app.abci_paths import split_path
from leasehold.devnet.app.application import ChainApplication
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import PlainError, Status, StatusError
from leasehold.devnet.consensus.blockstore import StoredBlock
from leasehold.devnet.consensus.node import Node

_SERVICE = "/cosmos.base.tendermint.v1beta1.Service/"
_PACKAGE = "cosmos.base.tendermint.v1beta1."
SDK_VERSION = "v0.53.5"
_ABCI_ROUTES = ("app", "store", "p2p", "custom")
_PAGE = 100


class BlockService:
    """Blocks as the SDK shows them: the raw block, and a second form with the proposer in bech32."""

    def __init__(self, app: ChainApplication, node: Node) -> None:
        self._app = app
        self._node = node
        self._registry = app.registry
        self._prefixes = Bech32Prefixes(app.identity.prefix)

    def handlers(self) -> dict[str, Callable[[Context, Any], Any]]:
        return {
            _SERVICE + "GetNodeInfo": self.node_info,
            _SERVICE + "GetSyncing": self.syncing,
            _SERVICE + "GetLatestBlock": self.latest_block,
            _SERVICE + "GetBlockByHeight": self.block_by_height,
            _SERVICE + "GetLatestValidatorSet": self.latest_validators,
            _SERVICE + "GetValidatorSetByHeight": self.validators_by_height,
            _SERVICE + "ABCIQuery": self.abci_query,
        }

    def _new(self, kind: str, /, **fields: Any) -> Any:
        return self._registry.type(_PACKAGE + kind)(**fields)

    def stored(self, height: int) -> StoredBlock:
        """A block that is kept; PlainError has the node's text when it is not."""
        found = self._node.store.block(height)
        if found is None:
            raise PlainError(f"height {height} is not available, lowest height is {self._node.base}")
        return found

    def raw(self, stored: StoredBlock) -> Any:
        return self._registry.parse("tendermint.types.Block", stored.block.encode())

    def block_id(self, stored: StoredBlock) -> Any:
        return self._registry.parse("tendermint.types.BlockID", stored.id.encode())

    def _answer(self, name: str, height: int) -> Any:
        stored = self.stored(height)
        block = self.raw(stored)
        header = self._new("Header")
        for field in header.DESCRIPTOR.fields:
            if field.name == "proposer_address":
                header.proposer_address = self._prefixes.consensus_text(block.header.proposer_address)
            elif field.message_type is not None:
                getattr(header, field.name).CopyFrom(getattr(block.header, field.name))
            else:
                setattr(header, field.name, getattr(block.header, field.name))
        sdk_block = self._new(
            "Block", header=header, data=block.data, evidence=block.evidence, last_commit=block.last_commit
        )
        return self._new(name, block_id=self.block_id(stored), block=block, sdk_block=sdk_block)

    def latest_block(self, ctx: Context, request: Any) -> Any:
        return self._answer("GetLatestBlockResponse", self._node.shown_height)

    def block_by_height(self, ctx: Context, request: Any) -> Any:
        if request.height > self._node.shown_height:
            raise StatusError(Status.INVALID_ARGUMENT, "requested block height is bigger then the chain length")
        if request.height <= 0:
            raise PlainError(f"height must be greater than 0, but got {request.height}")
        return self._answer("GetBlockByHeightResponse", request.height)

    def syncing(self, ctx: Context, request: Any) -> Any:
        return self._new("GetSyncingResponse", syncing=False)

    def node_info(self, ctx: Context, request: Any) -> Any:
        identity = self._node.identity
        network = {
            "protocol_version": {"p2p": 8, "block": 11, "app": self._app.params.app_version},
            "default_node_id": identity.id,
            "listen_addr": identity.listen_address,
            "network": self._node.chain_id,
            "version": identity.version,
            "channels": bytes.fromhex(identity.channels),
            "moniker": identity.moniker,
            "other": {"tx_index": "on", "rpc_address": identity.rpc_address},
        }
        namespace = self._app.identity.namespace
        version = self._new(
            "VersionInfo",
            name=namespace,
            app_name=f"{namespace}d",
            version=__version__,
            git_commit="",
            go_version=f"python {platform.python_version()}",
            cosmos_sdk_version=SDK_VERSION,
        )
        return self._new("GetNodeInfoResponse", default_node_info=network, application_version=version)

    def latest_validators(self, ctx: Context, request: Any) -> Any:
        # The set that works on the next block.
        return self._validators("GetLatestValidatorSetResponse", self._node.shown_height + 1, request)

    def validators_by_height(self, ctx: Context, request: Any) -> Any:
        if request.height > self._node.shown_height:
            raise StatusError(Status.INVALID_ARGUMENT, "requested block height is bigger then the chain length")
        if request.height <= 0:
            raise PlainError(f"height must be greater than 0, but got {request.height}")
        if request.height < self._node.base:
            raise PlainError(f"height {request.height} is not available, lowest height is {self._node.base}")
        return self._validators("GetValidatorSetByHeightResponse", request.height, request)

    def _validators(self, name: str, height: int, request: Any) -> Any:
        found: ValidatorSet | None = self._node.store.validators(height)
        if found is None:
            raise PlainError(f"could not find validator set for height #{height}")
        size = request.pagination.limit or _PAGE
        for what, number in (("offset", request.pagination.offset), ("limit", size)):
            if number >= 2**63:
                raise StatusError(Status.INVALID_ARGUMENT, f"{what} must greater than 0")
        page, pages = request.pagination.offset // size + 1, max(1, -(-len(found.validators) // min(size, _PAGE)))
        if page > pages:
            raise PlainError(f"page should be within [1, {pages}] range, given {page}")
        limit = min(size, _PAGE)
        offset = (page - 1) * limit
        listed = [
            self._new(
                "Validator",
                address=self._prefixes.consensus_text(validator.address),
                pub_key=self._registry.pack(
                    self._registry.new("cosmos.crypto.ed25519.PubKey", key=validator.public_key)
                ),
                voting_power=validator.power,
                proposer_priority=validator.priority,
            )
            for validator in found.validators[offset : offset + limit]
        ]
        total = self._registry.new("cosmos.base.query.v1beta1.PageResponse", total=len(found.validators))
        return self._new(name, block_height=height, validators=listed, pagination=total)

    def abci_query(self, ctx: Context, request: Any) -> Any:
        if not request.path:
            raise StatusError(Status.INVALID_ARGUMENT, "empty query path")
        if split_path(request.path)[:1] and split_path(request.path)[0] not in _ABCI_ROUTES:
            raise StatusError(Status.INVALID_ARGUMENT, f"unsupported ABCI query path: {request.path}")
        result = self._app.query(request.path, request.data, request.height, request.prove)
        return self._new(
            "ABCIQueryResponse",
            code=result.code,
            log=result.log,
            info=result.info,
            index=result.index,
            key=result.key or b"",
            value=result.value or b"",
            height=result.height,
            codespace=result.codespace,
        )
