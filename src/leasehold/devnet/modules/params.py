"""params: the old home of parameters, kept for the clients that still ask it."""

from __future__ import annotations

from typing import Any

from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import Kind, Status, StatusError
from leasehold.devnet.app.module import Module, answers

_PACKAGE = "cosmos.params.v1beta1."
# Subspaces that still exist; what they held has moved into the modules.
_SUBSPACES = (
    "auth", "bank", "distribution", "feerefunder", "gov", "ibc", "icacontroller", "icahost", "interchaintxs", "mint",
    "slashing", "staking", "transfer", "vestings",
)  # fmt: skip

UNKNOWN_SUBSPACE = Kind("params", 2, "unknown subspace")


class Params(Module):
    """Subspaces without values."""

    name = "params"

    @answers(_PACKAGE + "Query/Params")
    def query_params(self, ctx: Context, request: Any) -> Any:
        if not request.subspace or not request.key:
            raise StatusError(Status.INVALID_ARGUMENT, "invalid request")
        if request.subspace not in _SUBSPACES:
            raise UNKNOWN_SUBSPACE(request.subspace)
        param = self.new(_PACKAGE + "ParamChange", subspace=request.subspace, key=request.key)
        return self.new(_PACKAGE + "QueryParamsResponse", param=param)

    @answers(_PACKAGE + "Query/Subspaces")
    def query_subspaces(self, ctx: Context, request: Any) -> Any:
        listed = [self.new(_PACKAGE + "Subspace", subspace=name) for name in _SUBSPACES]
        return self.new(_PACKAGE + "QuerySubspacesResponse", subspaces=listed)
