"""consensus: limits of blocks and evidence, and how governance changes them."""

from __future__ import annotations

from typing import Any

from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import INVALID_REQUEST
from leasehold.devnet.app.module import Module, answers, handles
from leasehold.devnet.modules.instants import duration

_PACKAGE = "cosmos.consensus.v1."


class ConsensusParameters(Module):
    """Consensus parameters."""

    name = "consensus"

    @answers(_PACKAGE + "Query/Params")
    def query_params(self, ctx: Context, request: Any) -> Any:
        current = self.modules.router.params
        params = self.new("tendermint.types.ConsensusParams")
        params.block.max_bytes, params.block.max_gas = current.block_max_bytes, current.block_max_gas
        params.evidence.max_age_num_blocks = current.evidence_max_age_blocks
        params.evidence.max_age_duration.seconds = current.evidence_max_age_ns // 10**9
        params.evidence.max_age_duration.nanos = current.evidence_max_age_ns % 10**9
        params.evidence.max_bytes = current.evidence_max_bytes
        params.validator.pub_key_types.extend(current.pub_key_types)
        params.version.app = current.app_version
        params.version.SetInParent()
        params.abci.vote_extensions_enable_height = current.vote_extensions_enable_height
        params.abci.SetInParent()
        return self.new(_PACKAGE + "QueryParamsResponse", params=params)

    @handles(_PACKAGE + "MsgUpdateParams")
    def handle_update_params(self, ctx: Context, msg: Any) -> Any:
        self.modules.gov.require_authority(msg.authority)
        if not (msg.HasField("block") and msg.HasField("evidence") and msg.HasField("validator")):
            raise INVALID_REQUEST("all parameters must be present")
        if msg.block.max_bytes == 0 or msg.block.max_bytes < -1 or msg.block.max_gas < -1:
            raise INVALID_REQUEST("block limits must be positive or -1")
        self.modules.router.set_consensus_params(
            ctx,
            block_max_bytes=msg.block.max_bytes,
            block_max_gas=msg.block.max_gas,
            evidence_max_age_blocks=msg.evidence.max_age_num_blocks,
            evidence_max_age_ns=duration(msg.evidence.max_age_duration),
            evidence_max_bytes=msg.evidence.max_bytes,
        )
        return self.new(_PACKAGE + "MsgUpdateParamsResponse")
