"""Grants to store code: which programs, by their checksum or any, and who they may let use them."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any

from leasehold.devnet.app.errors import INVALID_REQUEST, PANIC, UNAUTHORIZED, ChainError
from leasehold.devnet.modules.authz.verdicts import Verdict
from leasehold.devnet.modules.wasm.codes import ANY_OF, WITHIN
from leasehold.devnet.modules.wasm.errors import EMPTY
from leasehold.devnet.modules.wasm.payloads import MAGIC, is_zipped

STORE = "cosmwasm.wasm.v1.StoreCodeAuthorization"
MESSAGE = "/cosmwasm.wasm.v1.MsgStoreCode"
_ANY_CODE = b"*"


def check(authorization: Any, permission: Callable[[Any], None]) -> None:
    """Refuse an authorization that makes no sense by itself; `permission` refuses who may use a code."""
    grants = list(authorization.grants)
    if not grants:
        raise EMPTY("grants")
    for index, grant in enumerate(grants):
        if len(grants) > 1 and grant.code_hash == _ANY_CODE:
            raise INVALID_REQUEST("cannot have multiple grants when wildcard grant is one of them")
        try:
            if not grant.code_hash:
                raise EMPTY("code hash")
            if grant.HasField("instantiate_permission"):
                permission(grant.instantiate_permission)
        except ChainError as error:
            raise error.wrap(f"position {index}") from None
    if len({grant.code_hash.lower() for grant in grants}) != len(grants):
        raise INVALID_REQUEST("cannot have multiple grants with same code hash")


def accept(authorization: Any, message: Any) -> Verdict:
    """Judge a message; nothing of these grants is used up."""
    if is_zipped(message.wasm_byte_code):
        # The original asks its context for a price that nobody has put there.
        raise INVALID_REQUEST("gas register not found in context")
    if not message.wasm_byte_code.startswith(MAGIC):
        raise INVALID_REQUEST("checksum")
    checksum = sha256(message.wasm_byte_code).digest()
    wanted = message.instantiate_permission if message.HasField("instantiate_permission") else None
    if any(_allows(grant, checksum, wanted) for grant in authorization.grants):
        return Verdict()
    raise ChainError(UNAUTHORIZED)


def _allows(grant: Any, checksum: bytes, wanted: Any) -> bool:
    if grant.code_hash != _ANY_CODE and grant.code_hash.lower() != checksum.lower():
        return False
    if not grant.HasField("instantiate_permission"):
        return True
    if wanted is None:
        # The original trips over this.
        raise PANIC("recovered: runtime error: invalid memory address or nil pointer dereference\nstack:\n")
    return _is_within(wanted, grant.instantiate_permission)


def _is_within(access: Any, bounds: Any) -> bool:
    """Whether who may use a code is among those that are allowed to."""
    if access.permission not in WITHIN.get(bounds.permission, ()):
        return False
    return bounds.permission != ANY_OF or set(access.addresses) <= set(bounds.addresses)
