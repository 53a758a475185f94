"""upgrade: planned changes of the software, and the versions of its modules."""

from __future__ import annotations

from typing import Any

from leasehold.core.addresses import module_address
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import INVALID_REQUEST, Kind
from leasehold.devnet.app.module import Module, answers, handles

_PACKAGE = "cosmos.upgrade.v1beta1."
_PLAN = b"upgrade/plan"
_VERSIONS = {
    "07-tendermint": 0, "auth": 5, "authz": 2, "bank": 4, "consensus": 1, "contractmanager": 2, "distribution": 3,
    "evidence": 1, "feegrant": 2, "feerefunder": 1, "genutil": 1, "gov": 5, "ibc": 8, "interchainaccounts": 3,
    "interchaintxs": 2, "mint": 2, "params": 1, "slashing": 4, "staking": 5, "tax": 4, "transfer": 6, "upgrade": 2,
    "vesting": 1, "vestings": 2, "wasm": 4,
}  # fmt: skip

VERSION_NOT_FOUND = Kind("upgrade", 2, "module version not found")


class Upgrade(Module):
    """Plans; a devnet only keeps them."""

    name = "upgrade"

    @handles(_PACKAGE + "MsgSoftwareUpgrade")
    def handle_upgrade(self, ctx: Context, msg: Any) -> Any:
        self.modules.gov.require_authority(msg.authority)
        self.schedule(ctx, msg.plan)
        return self.new(_PACKAGE + "MsgSoftwareUpgradeResponse")

    def schedule(self, ctx: Context, plan: Any) -> None:
        """Keep a plan, if it makes sense."""
        if not plan.name:
            raise INVALID_REQUEST("name cannot be empty")
        if plan.height <= 0:
            raise INVALID_REQUEST("height must be greater than 0")
        if plan.height < ctx.block.height:
            raise INVALID_REQUEST("upgrade cannot be scheduled in the past")
        ctx.store.set(_PLAN, plan.SerializeToString())

    @handles(_PACKAGE + "MsgCancelUpgrade")
    def handle_cancel(self, ctx: Context, msg: Any) -> Any:
        self.modules.gov.require_authority(msg.authority)
        ctx.store.delete(_PLAN)
        return self.new(_PACKAGE + "MsgCancelUpgradeResponse")

    @answers(_PACKAGE + "Query/CurrentPlan")
    def query_plan(self, ctx: Context, request: Any) -> Any:
        response = self.new(_PACKAGE + "QueryCurrentPlanResponse")
        data = ctx.store.get(_PLAN)
        if data is not None:
            response.plan.ParseFromString(data)
        return response

    @answers(_PACKAGE + "Query/AppliedPlan")
    def query_applied(self, ctx: Context, request: Any) -> Any:
        return self.new(_PACKAGE + "QueryAppliedPlanResponse")

    @answers(_PACKAGE + "Query/UpgradedConsensusState")
    def query_upgraded_state(self, ctx: Context, request: Any) -> Any:
        return self.new(_PACKAGE + "QueryUpgradedConsensusStateResponse")

    @answers(_PACKAGE + "Query/ModuleVersions")
    def query_versions(self, ctx: Context, request: Any) -> Any:
        chosen = _VERSIONS
        if request.module_name:
            if request.module_name not in _VERSIONS:
                raise VERSION_NOT_FOUND(f"x/upgrade: QueryModuleVersions module {request.module_name} not found")
            chosen = {request.module_name: _VERSIONS[request.module_name]}
        kind: Any = self.registry.type(_PACKAGE + "ModuleVersion")
        listed = [kind(name=name, version=version) for name, version in chosen.items()]
        return self.new(_PACKAGE + "QueryModuleVersionsResponse", module_versions=listed)

    @answers(_PACKAGE + "Query/Authority")
    def query_authority(self, ctx: Context, request: Any) -> Any:
        address = self.prefixes.account_text(module_address("gov"))
        return self.new(_PACKAGE + "QueryAuthorityResponse", address=address)
