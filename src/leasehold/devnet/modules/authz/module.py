"""The authz module: grants, their use and their end."""

from __future__ import annotations

import json
from typing import Any

from leasehold.chain.registry import Registry
from leasehold.core.clock import rfc3339
from leasehold.core.settings import Identity
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import (
    INVALID_REQUEST,
    INVALID_TYPE,
    UNAUTHORIZED,
    UNKNOWN_REQUEST,
    ChainError,
    Kind,
    undefined,
)
from leasehold.devnet.app.module import Module, answers, handles
from leasehold.devnet.app.pagination import page
from leasehold.devnet.modules.authz import code_grants
from leasehold.devnet.modules.authz.authorizations import accept, check, message_type
from leasehold.devnet.modules.authz.contract_grants import MESSAGES as CONTRACT_MESSAGES
from leasehold.devnet.modules.authz.contract_grants import ContractGrants
from leasehold.devnet.modules.compact_text import compact_text
from leasehold.devnet.modules.instants import instant, sortable
from leasehold.devnet.modules.participants import Participants, lossy_text
from leasehold.devnet.modules.staking.ledger import sized

_PACKAGE = "cosmos.authz.v1beta1."
_GRANT = b"authz/g/"
_QUEUE = b"authz/q/"
# Most expired grants dropped in one block.
_SWEEP = 200
# With which byte the original's keys of grants begin; a refusal shows them.
_GRANT_TABLE = b"\x01"

NOT_FOUND = Kind("authz", 2, "authorization not found")
INVALID_EXPIRATION = Kind("authz", 3, "expiration time of authorization should be more than current time")
EXPIRED = Kind("authz", 6, "authorization expired")
SELF_GRANT = Kind("authz", 7, "grantee and granter should be different")
SIGNERS = Kind("authz", 9, "authorization can be given to msg with only one signer")


class Authz(Module):
    """Acting for another account."""

    name = "authz"

    def __init__(self, identity: Identity, registry: Registry) -> None:
        super().__init__(identity, registry)
        self.participants = Participants(self.prefixes)
        self.contract_grants = ContractGrants(
            registry, self.unpacked, lambda text: self.modules.auth.plain_address_bytes(text)
        )

    def init_genesis(self, ctx: Context, state: dict[str, Any]) -> None:
        for entry in state.get("authorization", []):
            grant = self.from_json(_PACKAGE + "GrantAuthorization", entry)
            record = self.new(_PACKAGE + "Grant", authorization=grant.authorization)
            if grant.HasField("expiration"):
                record.expiration.CopyFrom(grant.expiration)
            granter, grantee = self.participants.account(grant.granter), self.participants.account(grant.grantee)
            self._save(ctx, granter, grantee, message_type(self.unpacked(grant.authorization)), record)

    def begin_block(self, ctx: Context) -> None:
        """Drop grants that have expired."""
        end = _QUEUE + sortable(ctx.block.time_ns + 1)
        due = []
        for key, value in ctx.store.iterate(_QUEUE, end):
            due.append((key, value))
            if len(due) == _SWEEP:
                break
        for key, value in due:
            ctx.store.delete(key)
            ctx.store.delete(_GRANT + value)

    # Records.

    def _key(self, granter: bytes, grantee: bytes, type_url: str) -> bytes:
        return sized(granter) + sized(grantee) + type_url.encode()

    def _find(self, ctx: Context, granter: bytes, grantee: bytes, type_url: str) -> Any:
        data = ctx.store.get(_GRANT + self._key(granter, grantee, type_url))
        return None if data is None else self.registry.parse(_PACKAGE + "Grant", data)

    def _save(self, ctx: Context, granter: bytes, grantee: bytes, type_url: str, grant: Any) -> None:
        key = self._key(granter, grantee, type_url)
        old = self._find(ctx, granter, grantee, type_url)
        if old is not None and old.HasField("expiration"):
            ctx.store.delete(_QUEUE + sortable(instant(old.expiration)) + key)
        if grant.HasField("expiration"):
            ctx.store.set(_QUEUE + sortable(instant(grant.expiration)) + key, key)
        ctx.store.set(_GRANT + key, grant.SerializeToString())

    def _delete(self, ctx: Context, granter: bytes, grantee: bytes, type_url: str) -> None:
        key = self._key(granter, grantee, type_url)
        grant = self._find(ctx, granter, grantee, type_url)
        if grant is None:
            raise NOT_FOUND(f"failed to delete grant with key {lossy_text(_GRANT_TABLE + key)}")
        if grant.HasField("expiration"):
            ctx.store.delete(_QUEUE + sortable(instant(grant.expiration)) + key)
        ctx.store.delete(_GRANT + key)
        self._announce(ctx, "EventRevoke", granter, grantee, type_url)

    def _announce(self, ctx: Context, event: str, granter: bytes, grantee: bytes, type_url: str) -> None:
        """A typed event: its attributes are JSON values in alphabetical order."""
        ctx.emit(
            _PACKAGE + event,
            ("grantee", json.dumps(self.prefixes.account_text(grantee))),
            ("granter", json.dumps(self.prefixes.account_text(granter))),
            ("msg_type_url", json.dumps(type_url)),
        )

    # Messages.

    def _pair(self, msg: Any) -> tuple[bytes, bytes]:
        if msg.granter.lower() == msg.grantee.lower():
            raise ChainError(SELF_GRANT)
        grantee = self.participants.account(msg.grantee, "invalid grantee address: ")
        granter = self.participants.account(msg.granter, "invalid granter address: ")
        return granter, grantee

    @handles(_PACKAGE + "MsgGrant")
    def handle_grant(self, ctx: Context, msg: Any) -> Any:
        granter, grantee = self._pair(msg)
        if not msg.grant.authorization.type_url:
            raise INVALID_TYPE("authorization is nil")
        authorization = self.unpacked(msg.grant.authorization)
        if authorization.DESCRIPTOR.full_name in CONTRACT_MESSAGES:
            self.contract_grants.check(authorization)
        elif authorization.DESCRIPTOR.full_name == code_grants.STORE:
            code_grants.check(authorization, self.modules.wasm.check_permission)
        check(authorization)
        type_url = message_type(authorization)
        if not self.modules.auth.exists(ctx, grantee):
            if self.modules.bank.blocked(grantee):
                raise UNAUTHORIZED(f"{msg.grantee} is not allowed to receive funds")
            self.modules.auth.create(ctx, grantee)
        if not self.modules.router.routes(type_url.removeprefix("/")):
            raise INVALID_TYPE(f"{type_url} doesn't exist.")
        if msg.grant.HasField("expiration") and instant(msg.grant.expiration) <= ctx.block.time_ns:
            now = rfc3339(ctx.block.time_ns, digits="seconds")
            given = rfc3339(instant(msg.grant.expiration), digits="seconds")
            raise INVALID_EXPIRATION(f"expiration must be after the current block time ({now}), got {given}")
        self._save(ctx, granter, grantee, type_url, msg.grant)
        self._announce(ctx, "EventGrant", granter, grantee, type_url)
        return self.new(_PACKAGE + "MsgGrantResponse")

    @handles(_PACKAGE + "MsgRevoke")
    def handle_revoke(self, ctx: Context, msg: Any) -> Any:
        granter, grantee = self._pair(msg)
        if not msg.msg_type_url:
            raise INVALID_REQUEST("missing msg method name")
        self._delete(ctx, granter, grantee, msg.msg_type_url)
        return self.new(_PACKAGE + "MsgRevokeResponse")

    @handles(_PACKAGE + "MsgExec")
    def handle_exec(self, ctx: Context, msg: Any) -> Any:
        if not msg.grantee:
            raise undefined("empty address string is not allowed")
        grantee = self.participants.account(msg.grantee, "invalid grantee address: ")
        if not msg.msgs:
            raise INVALID_REQUEST("messages cannot be empty")
        messages = [self.unpacked(packed) for packed in msg.msgs]
        for index, message in enumerate(messages):
            try:
                self.modules.router.check(message)
            except ChainError as error:
                raise error.wrap(f"msg {index}") from None
        results = [self._dispatch(ctx, grantee, message, index) for index, message in enumerate(messages)]
        return self.new(_PACKAGE + "MsgExecResponse", results=results)

    def _dispatch(self, ctx: Context, grantee: bytes, message: Any, index: int) -> bytes:
        name = message.DESCRIPTOR.full_name
        signers = self.signers_of(message)
        if len(signers) != 1:
            raise ChainError(SIGNERS)
        granter = signers[0]
        if granter != grantee:
            self._authorize(ctx, granter, grantee, message)
        if not self.modules.router.routes(name):
            raise UNKNOWN_REQUEST(f"unrecognized message route: /{name}")
        outer, ctx.events = ctx.events, []
        try:
            response = self.modules.router.execute(ctx, message)
        except ChainError as error:
            raise error.wrap(f"failed to execute message; message {compact_text(message)}") from None
        for event in ctx.events:
            event.attributes.append(("authz_msg_index", str(index)))
        ctx.events = outer + ctx.events
        return bytes(response.SerializeToString())

    def _authorize(self, ctx: Context, granter: bytes, grantee: bytes, message: Any) -> None:
        type_url = "/" + message.DESCRIPTOR.full_name
        grant = self._find(ctx, granter, grantee, type_url)
        if grant is None:
            by, to = self.prefixes.account_text(granter), self.prefixes.account_text(grantee)
            raise NOT_FOUND(f"failed to get grant with given granter: {by}, grantee: {to} & msgType: {type_url} ")
        if grant.HasField("expiration") and instant(grant.expiration) < ctx.block.time_ns:
            raise ChainError(EXPIRED)
        authorization = self.unpacked(grant.authorization)
        if authorization.DESCRIPTOR.full_name in CONTRACT_MESSAGES:
            verdict = self.contract_grants.accept(ctx, authorization, message)
        else:
            verdict = accept(self.registry, ctx, authorization, message)
        if verdict.used_up:
            self._delete(ctx, granter, grantee, type_url)
        elif verdict.updated is not None:
            grant.authorization.CopyFrom(self.registry.pack(verdict.updated))
            ctx.store.set(_GRANT + self._key(granter, grantee, type_url), grant.SerializeToString())

    # Queries.

    @answers(_PACKAGE + "Query/Grants")
    def query_grants(self, ctx: Context, request: Any) -> Any:
        granter = self.participants.queried_account(request.granter)
        grantee = self.participants.queried_account(request.grantee)
        if request.msg_type_url:
            grant = self._find(ctx, granter, grantee, request.msg_type_url)
            if grant is None:
                raise NOT_FOUND(f"authorization not found for {request.msg_type_url} type")
            return self.new(_PACKAGE + "QueryGrantsResponse", grants=[grant])
        kind: Any = self.registry.type(_PACKAGE + "Grant")
        prefix = _GRANT + self._key(granter, grantee, "")
        items, result = page(ctx, prefix, request.pagination, lambda _, data: kind.FromString(data))
        return self.new(_PACKAGE + "QueryGrantsResponse", grants=items, pagination=self.page_response(result))

    def _named(self, granter: bytes, grantee: bytes, data: bytes) -> Any:
        grant = self.registry.parse(_PACKAGE + "Grant", data)
        named = self.new(
            _PACKAGE + "GrantAuthorization",
            granter=self.prefixes.account_text(granter),
            grantee=self.prefixes.account_text(grantee),
            authorization=grant.authorization,
        )
        if grant.HasField("expiration"):
            named.expiration.CopyFrom(grant.expiration)
        return named

    @answers(_PACKAGE + "Query/GranterGrants")
    def query_granter(self, ctx: Context, request: Any) -> Any:
        granter = self.participants.queried_account(request.granter)

        def take(key: bytes, data: bytes) -> Any:
            return self._named(granter, key[1 : 1 + key[0]], data)

        items, result = page(ctx, _GRANT + sized(granter), request.pagination, take)
        return self.new(_PACKAGE + "QueryGranterGrantsResponse", grants=items, pagination=self.page_response(result))

    @answers(_PACKAGE + "Query/GranteeGrants")
    def query_grantee(self, ctx: Context, request: Any) -> Any:
        wanted = self.participants.queried_account(request.grantee)

        ending = sized(wanted)

        def keep(key: bytes, _: bytes) -> bool:
            return key.startswith(ending, 1 + key[0])

        def take(key: bytes, data: bytes) -> Any:
            return self._named(key[1 : 1 + key[0]], wanted, data)

        items, result = page(ctx, _GRANT, request.pagination, take, keep=keep)
        return self.new(_PACKAGE + "QueryGranteeGrantsResponse", grants=items, pagination=self.page_response(result))
