"""evidence: validators that signed two blocks of one height."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from leasehold.chain.go_hex import decode_hex
from leasehold.core.errors import InvalidInput
from leasehold.devnet.app.abci import Misbehavior
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import NOT_SUPPORTED, Kind, PlainError, Status, StatusError
from leasehold.devnet.app.module import Module, answers, handles
from leasehold.devnet.app.pagination import page
from leasehold.devnet.modules.instants import set_instant
from leasehold.devnet.modules.staking.shares import UNBONDED

_PACKAGE = "cosmos.evidence.v1beta1."
_EVIDENCE = b"evidence/e/"

NO_HANDLER = Kind("evidence", 2, "unregistered handler for evidence type")


class Evidence(Module):
    """What consensus reports against validators."""

    name = "evidence"

    def init_genesis(self, ctx: Context, state: dict[str, Any]) -> None:
        for entry in state.get("evidence", []):
            self._keep(ctx, self.any_from_json(entry))

    def _keep(self, ctx: Context, evidence: Any) -> None:
        digest = sha256(evidence.SerializeToString()).digest()
        ctx.store.set(_EVIDENCE + digest, self.registry.pack(evidence).SerializeToString())

    def begin_block(self, ctx: Context) -> None:
        for report in ctx.block.misbehavior:
            self._judge(ctx, report)

    def _judge(self, ctx: Context, report: Misbehavior) -> None:
        """Punish a bonded validator once; evidence that is too old counts no more."""
        params = self.modules.router.params
        age = ctx.block.height - report.height
        too_old = (
            age > params.evidence_max_age_blocks and ctx.block.time_ns - report.time_ns > params.evidence_max_age_ns
        )
        validator = self.modules.staking.find_by_consensus(ctx, report.address)
        if too_old or validator is None or validator.status == UNBONDED:
            return
        info = self.modules.slashing.find_info(ctx, report.address)
        if info is None or info.tombstoned:
            return
        self.modules.slashing.punish_double_sign(ctx, report.address, report.height, report.power)
        evidence = self.new(
            _PACKAGE + "Equivocation",
            height=report.height,
            power=report.power,
            consensus_address=self.prefixes.consensus_text(report.address),
        )
        set_instant(evidence.time, report.time_ns)
        self._keep(ctx, evidence)

    @handles(_PACKAGE + "MsgSubmitEvidence")
    def handle_submit(self, ctx: Context, msg: Any) -> Any:
        if not msg.evidence.type_url:
            raise NOT_SUPPORTED("missing evidence")
        raise NO_HANDLER(msg.evidence.type_url)

    @answers(_PACKAGE + "Query/Evidence")
    def query_evidence(self, ctx: Context, request: Any) -> Any:
        text = request.hash
        if not text:
            raise StatusError(Status.INVALID_ARGUMENT, "invalid request; hash is empty")
        try:
            digest = decode_hex(text)
        except InvalidInput as error:
            raise PlainError(f"invalid evidence hash: {error.message}") from None
        data = ctx.store.get(_EVIDENCE + digest)
        if data is None:
            raise StatusError(Status.NOT_FOUND, f"evidence {text} not found")
        packed = self.registry.parse("google.protobuf.Any", data)
        return self.new(_PACKAGE + "QueryEvidenceResponse", evidence=packed)

    @answers(_PACKAGE + "Query/AllEvidence")
    def query_all(self, ctx: Context, request: Any) -> Any:
        kind: Any = self.registry.type("google.protobuf.Any")
        items, result = page(ctx, _EVIDENCE, request.pagination, lambda _, data: kind.FromString(data), walks=True)
        return self.new(_PACKAGE + "QueryAllEvidenceResponse", evidence=items, pagination=self.page_response(result))
