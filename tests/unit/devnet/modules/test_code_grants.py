"""Grants to store code for another: which programs, and who they may let use them."""

from __future__ import annotations

import gzip
from hashlib import sha256
from typing import Any

import pytest
from tests.unit.devnet.modules.idle_contract import CODE, OTHER, WASM, gov, idle_chain
from tests.unit.devnet.modules.unsigned_chain import UnsignedChain

AUTHZ = "cosmos.authz.v1beta1."
NOBODY, EVERYBODY, ANY_OF = 1, 3, 4
FIRST = sha256(CODE).digest()


@pytest.fixture
def chain() -> UnsignedChain:
    """A chain on which everybody may store code."""
    chain = idle_chain("ann", "bob")
    params = chain.message(WASM + "Params", instantiate_default_permission=EVERYBODY)
    params.code_upload_access.permission = EVERYBODY
    chain.done(chain.message(WASM + "MsgUpdateParams", authority=gov(chain), params=params))
    return chain


def access(chain: UnsignedChain, permission: int, *names: str) -> Any:
    return chain.message(WASM + "AccessConfig", permission=permission, addresses=[chain.account(one) for one in names])


def code(chain: UnsignedChain, checksum: bytes, bounds: Any = None) -> Any:
    """One grant of an authorization."""
    return chain.message(WASM + "CodeGrant", code_hash=checksum, instantiate_permission=bounds)


def given(chain: UnsignedChain, *grants: Any) -> Any:
    """The message by which Ann lets Bob store code."""
    message = chain.message(AUTHZ + "MsgGrant", granter=chain.account("ann"), grantee=chain.account("bob"))
    authorization = chain.message(WASM + "StoreCodeAuthorization", grants=grants)
    message.grant.authorization.CopyFrom(chain.registry.pack(authorization))
    return message


def store(chain: UnsignedChain, bytecode: bytes = CODE, wanted: Any = None) -> Any:
    """Bob stores code as Ann."""
    message = chain.message(
        WASM + "MsgStoreCode",
        sender=chain.account("ann"),
        wasm_byte_code=bytecode,
        instantiate_permission=wanted,
    )
    return chain.message(AUTHZ + "MsgExec", grantee=chain.account("bob"), msgs=[chain.registry.pack(message)])


def test_a_program_is_known_by_its_checksum(chain: UnsignedChain) -> None:
    """The program that was named may be stored, time after time; others, archives and what is none may not."""
    chain.done(given(chain, code(chain, FIRST)))
    chain.done(store(chain))
    chain.done(store(chain))
    assert chain.run(store(chain, OTHER)).log == "unauthorized"
    assert chain.run(store(chain, gzip.compress(CODE))).log == "gas register not found in context: invalid request"
    assert chain.run(store(chain, b"MZ")).log == "checksum: invalid request"


def test_a_star_stands_for_any_program(chain: UnsignedChain) -> None:
    chain.done(given(chain, code(chain, b"*")))
    chain.done(store(chain))
    chain.done(store(chain, OTHER))


@pytest.mark.parametrize(
    ("bounds", "wanted", "good"),
    [
        ((EVERYBODY,), (ANY_OF, "bob"), True),
        ((EVERYBODY,), (NOBODY,), True),
        ((NOBODY,), (NOBODY,), True),
        ((NOBODY,), (ANY_OF, "bob"), False),
        ((ANY_OF, "ann", "bob"), (ANY_OF, "bob"), True),
        ((ANY_OF, "ann"), (ANY_OF, "ann", "bob"), False),
        ((ANY_OF, "ann"), (NOBODY,), True),
        ((ANY_OF, "ann"), (EVERYBODY,), False),
    ],
)
def test_who_may_use_the_code_is_within_bounds(
    chain: UnsignedChain, bounds: tuple[Any, ...], wanted: tuple[Any, ...], good: bool
) -> None:
    chain.done(given(chain, code(chain, FIRST, access(chain, *bounds))))
    outcome = chain.run(store(chain, wanted=access(chain, *wanted)))
    assert outcome.log == ("" if good else "unauthorized")


def test_bounds_and_no_wish_trip_the_original(chain: UnsignedChain) -> None:
    chain.done(given(chain, code(chain, FIRST, access(chain, EVERYBODY))))
    assert "nil pointer dereference" in chain.run(store(chain)).log


@pytest.mark.parametrize(
    ("hashes", "log"),
    [
        ((), "grants: empty"),
        ((b"",), "position 0: code hash: empty"),
        ((FIRST, b"*"), "cannot have multiple grants when wildcard grant is one of them: invalid request"),
        ((b"ab", b"AB"), "cannot have multiple grants with same code hash: invalid request"),
    ],
)
def test_what_makes_no_sense_is_refused(chain: UnsignedChain, hashes: tuple[bytes, ...], log: str) -> None:
    assert chain.run(given(chain, *(code(chain, one) for one in hashes))).log == log


def test_bounds_that_make_no_sense_are_refused(chain: UnsignedChain) -> None:
    assert chain.run(given(chain, code(chain, FIRST, access(chain, 0)))).log == "position 0: type: empty"
