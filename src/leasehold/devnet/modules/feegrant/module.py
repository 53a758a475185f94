"""The feegrant module: grants, their use by the ante handler, and their end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leasehold.chain.registry import Registry
from leasehold.core.settings import Identity
from leasehold.devnet.app.coins import Coins
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import (
    INVALID_ADDRESS,
    INVALID_REQUEST,
    NOT_FOUND,
    UNAUTHORIZED,
    ChainError,
    PlainError,
    Status,
    StatusError,
)
from leasehold.devnet.app.module import Module, answers, handles
from leasehold.devnet.app.pagination import page
from leasehold.devnet.modules.feegrant.allowances import Allowances
from leasehold.devnet.modules.instants import sortable
from leasehold.devnet.modules.participants import Participants, lossy_text
from leasehold.devnet.modules.staking.ledger import sized

_PACKAGE = "cosmos.feegrant.v1beta1."
_GRANT = b"feegrant/g/"
_QUEUE = b"feegrant/q/"
_SWEEP = 200
_PRUNE = 75


class Feegrant(Module):
    """Fees paid by another account."""

    name = "feegrant"

    def __init__(self, identity: Identity, registry: Registry) -> None:
        super().__init__(identity, registry)
        self.participants = Participants(self.prefixes)
        self._allowances = Allowances(registry)

    def init_genesis(self, ctx: Context, state: dict[str, Any]) -> None:
        for entry in state.get("allowances", []):
            grant = self.from_json(_PACKAGE + "Grant", entry)
            granter, grantee = self.participants.account(grant.granter), self.participants.account(grant.grantee)
            self._save(ctx, granter, grantee, self.unpacked(grant.allowance))

    def end_block(self, ctx: Context) -> None:
        self._drop_expired(ctx, _SWEEP)

    def _drop_expired(self, ctx: Context, limit: int) -> None:
        due = []
        for key, value in ctx.store.iterate(_QUEUE, _QUEUE + sortable(ctx.block.time_ns + 1)):
            due.append((key, value))
            if len(due) == limit:
                break
        for key, value in due:
            ctx.store.delete(key)
            ctx.store.delete(_GRANT + value)

    # Records.

    def _key(self, granter: bytes, grantee: bytes) -> bytes:
        return sized(grantee) + sized(granter)

    def _find(self, ctx: Context, granter: bytes, grantee: bytes) -> Any:
        """The allowance of a grant, to be changed and saved, or None."""
        data = ctx.store.get(_GRANT + self._key(granter, grantee))
        if data is None:
            return None
        return self.unpacked(self.registry.parse(_PACKAGE + "Grant", data).allowance)

    def _save(self, ctx: Context, granter: bytes, grantee: bytes, allowance: Any) -> None:
        grant = self.new(
            _PACKAGE + "Grant",
            granter=self.prefixes.account_text(granter),
            grantee=self.prefixes.account_text(grantee),
            allowance=self.registry.pack(allowance),
        )
        key = self._key(granter, grantee)
        ctx.store.set(_GRANT + key, grant.SerializeToString())
        end = self._allowances.expiration(allowance)
        if end is not None:
            ctx.store.set(_QUEUE + sortable(end) + key, key)

    def _revoke(self, ctx: Context, granter: bytes, grantee: bytes) -> None:
        allowance = self._find(ctx, granter, grantee)
        if allowance is None:
            raise NOT_FOUND("fee-grant not found")
        key = self._key(granter, grantee)
        ctx.store.delete(_GRANT + key)
        end = self._allowances.expiration(allowance)
        if end is not None:
            ctx.store.delete(_QUEUE + sortable(end) + key)
        self._announce(ctx, "revoke_feegrant", granter, grantee)

    def _announce(self, ctx: Context, event: str, granter: bytes, grantee: bytes) -> None:
        by, to = self.prefixes.account_text(granter), self.prefixes.account_text(grantee)
        ctx.emit(event, ("granter", by), ("grantee", to))

    def use(self, ctx: Context, granter: bytes, grantee: bytes, fee: Coins, messages: Sequence[Any]) -> None:
        """Let a grant pay a fee, or refuse; called before the fee is taken from the granter."""
        try:
            self._use(ctx, granter, grantee, fee, messages)
        except ChainError as error:
            # The real chain prints both addresses as raw bytes here.
            text = f"{lossy_text(granter)} does not allow to pay fees for {lossy_text(grantee)}"
            raise error.wrap(text) from None

    def _use(self, ctx: Context, granter: bytes, grantee: bytes, fee: Coins, messages: Sequence[Any]) -> None:
        allowance = self._find(ctx, granter, grantee)
        if allowance is None:
            raise NOT_FOUND("fee-grant not found")
        used_up = self._allowances.spend(ctx, allowance, fee, messages)
        if used_up:
            self._revoke(ctx, granter, grantee)
            self._announce(ctx, "use_feegrant", granter, grantee)
            return
        self._announce(ctx, "use_feegrant", granter, grantee)
        self._save(ctx, granter, grantee, allowance)
        self._announce(ctx, "update_feegrant", granter, grantee)

    # Messages.

    @handles(_PACKAGE + "MsgGrantAllowance")
    def handle_grant(self, ctx: Context, msg: Any) -> Any:
        if msg.granter.lower() == msg.grantee.lower():
            raise INVALID_ADDRESS("cannot self-grant fee authorization")
        grantee, granter = map(self.participants.unwrapped_account, (msg.grantee, msg.granter))
        if self._find(ctx, granter, grantee) is not None:
            raise INVALID_REQUEST("fee allowance already exists")
        allowance = self.unpacked(msg.allowance)
        self._allowances.check(allowance)
        if not self.modules.auth.exists(ctx, grantee):
            if self.modules.bank.blocked(grantee):
                raise UNAUTHORIZED(f"{msg.grantee} is not allowed to receive funds")
            self.modules.auth.create(ctx, grantee)
        end = self._allowances.expiration(allowance)
        if end is not None and end < ctx.block.time_ns:
            raise INVALID_REQUEST("expiration is before current block time")
        self._save(ctx, granter, grantee, allowance)
        self._announce(ctx, "set_feegrant", granter, grantee)
        return self.new(_PACKAGE + "MsgGrantAllowanceResponse")

    @handles(_PACKAGE + "MsgRevokeAllowance")
    def handle_revoke(self, ctx: Context, msg: Any) -> Any:
        if msg.granter == msg.grantee:
            raise INVALID_ADDRESS("addresses must be different")
        grantee, granter = map(self.participants.unwrapped_account, (msg.grantee, msg.granter))
        self._revoke(ctx, granter, grantee)
        return self.new(_PACKAGE + "MsgRevokeAllowanceResponse")

    @handles(_PACKAGE + "MsgPruneAllowances")
    def handle_prune(self, ctx: Context, msg: Any) -> Any:
        self._drop_expired(ctx, _PRUNE)
        ctx.emit("prune_feegrant", ("pruner", msg.pruner))
        return self.new(_PACKAGE + "MsgPruneAllowancesResponse")

    # Queries.

    @answers(_PACKAGE + "Query/Allowance")
    def query_allowance(self, ctx: Context, request: Any) -> Any:
        granter = self.participants.queried_account(request.granter)
        grantee = self.participants.queried_account(request.grantee)
        data = ctx.store.get(_GRANT + self._key(granter, grantee))
        if data is None:
            raise StatusError(Status.INTERNAL, NOT_FOUND("fee-grant not found").log)
        grant = self.registry.parse(_PACKAGE + "Grant", data)
        return self.new(_PACKAGE + "QueryAllowanceResponse", allowance=grant)

    @answers(_PACKAGE + "Query/Allowances")
    def query_allowances(self, ctx: Context, request: Any) -> Any:
        grantee = self.participants.queried_account(request.grantee)
        items, result = self._listed(ctx, _GRANT + sized(grantee), request, None)
        return self.new(_PACKAGE + "QueryAllowancesResponse", allowances=items, pagination=self.page_response(result))

    @answers(_PACKAGE + "Query/AllowancesByGranter")
    def query_by_granter(self, ctx: Context, request: Any) -> Any:
        granter = self.participants.queried_account(request.granter)
        items, result = self._listed(ctx, _GRANT, request, sized(granter))
        return self.new(
            _PACKAGE + "QueryAllowancesByGranterResponse",
            allowances=items,
            pagination=self.page_response(result),
        )

    def _listed(self, ctx: Context, prefix: bytes, request: Any, ending: bytes | None) -> Any:
        kind: Any = self.registry.type(_PACKAGE + "Grant")

        keep = None if ending is None else lambda key, _: key.endswith(ending)
        try:
            return page(ctx, prefix, request.pagination, lambda _, data: kind.FromString(data), keep=keep)
        except PlainError as error:
            raise StatusError(Status.INTERNAL, str(error)) from None
