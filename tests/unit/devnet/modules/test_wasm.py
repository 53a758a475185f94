"""The wasm module's messages: what is refused before and after the state is looked at, and what governance may do."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest
from tests.unit.devnet.modules.idle_contract import CODE, OTHER, WASM, gov, idle_chain, instance, stored
from tests.unit.devnet.modules.unsigned_chain import UnsignedChain

from leasehold.devnet.modules.wasm.codes import ANY_OF, EVERYBODY, NOBODY


@pytest.fixture
def chain() -> UnsignedChain:
    """A chain on which governance may store two programs."""
    return idle_chain("ann", "bob")


def test_governance_stores_whatever_the_parameters_say(chain: UnsignedChain) -> None:
    """With uploads closed for all, a user is refused and governance is not."""
    message = chain.message(WASM + "MsgStoreCode", sender=chain.account("ann"), wasm_byte_code=CODE)
    assert chain.run(message).log == "can not create code: unauthorized"
    assert stored(chain) == 1


@pytest.mark.parametrize(
    ("name", "fields", "log", "code"),
    [
        ("MsgStoreCode", {}, "code bytes is required: empty: invalid request", 18),
        (
            "MsgStoreCode",
            {"wasm_byte_code": bytes(5 * 1024 * 1024 + 1)},
            "code bytes cannot be longer than 5242880 bytes: exceeds limit: invalid request",
            18,
        ),
        (
            "MsgStoreCode",
            {"wasm_byte_code": CODE, "instantiate_permission": {}},
            "instantiate permission: type: empty",
            12,
        ),
        (
            "MsgStoreCode",
            {"wasm_byte_code": CODE, "instantiate_permission": {"permission": ANY_OF}},
            "instantiate permission: addresses: addresses: empty",
            12,
        ),
        (
            "MsgInstantiateContract",
            {"label": " x", "code_id": 1},
            "label: label must not start/end with whitespaces",
            14,
        ),
        (
            "MsgInstantiateContract",
            {"label": "a\x07b", "code_id": 1},
            "label: label must have printable characters",
            14,
        ),
        (
            "MsgInstantiateContract",
            {"label": "x" * 129, "code_id": 1},
            "label: cannot be longer than 128 characters",
            13,
        ),
        ("MsgInstantiateContract", {"label": "x", "code_id": 1}, "payload msg: invalid", 14),
        ("MsgUpdateInstantiateConfig", {"code_id": 1}, "instantiate permission is required: invalid request", 18),
        ("MsgUpdateInstantiateConfig", {}, "code id is required: invalid request", 18),
    ],
)
def test_messages_that_make_no_sense(
    chain: UnsignedChain, name: str, fields: dict[str, Any], log: str, code: int
) -> None:
    """Each is refused before the state is looked at, with its own code and words."""
    outcome = chain.run(chain.message(WASM + name, sender=chain.account("ann"), **fields))
    assert outcome.log.startswith(log)
    assert outcome.error is not None
    assert outcome.error.kind.code == code


@pytest.mark.parametrize(
    ("coins", "problem"),
    [
        ([("ulsh", "0")], "coin 0ulsh amount is not positive"),
        ([("ulsh", "1"), ("abc", "1")], "denomination abc is not sorted"),
        ([("ulsh", "1"), ("ulsh", "1")], "duplicate denomination ulsh"),
        ([("abc", "1"), ("ulsh", "0")], "coin ulsh amount is not positive"),
        ([("a", "1")], "invalid denom: a"),
    ],
)
def test_impossible_funds(chain: UnsignedChain, coins: list[tuple[str, str]], problem: str) -> None:
    """Coins that can't be are refused with codespace `undefined`."""
    message = chain.message(
        WASM + "MsgExecuteContract",
        sender=chain.account("ann"),
        contract=chain.account("bob"),
        msg=b"{}",
        funds=[{"denom": denom, "amount": amount} for denom, amount in coins],
    )
    outcome = chain.run(message)
    assert outcome.error is not None
    assert (outcome.log, outcome.error.kind.codespace, outcome.error.kind.code) == (f"funds: {problem}", "undefined", 1)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("MsgPinCodes", {"code_ids": [1]}),
        ("MsgUnpinCodes", {"code_ids": [1]}),
        ("MsgSudoContract", {"msg": b"{}"}),
        ("MsgAddCodeUploadParamsAddresses", {}),
        ("MsgRemoveCodeUploadParamsAddresses", {}),
        ("MsgUpdateParams", {"params": {"instantiate_default_permission": 3, "code_upload_access": {"permission": 3}}}),
    ],
)
def test_messages_of_the_governance_are_refused_from_others(
    chain: UnsignedChain, name: str, fields: dict[str, Any]
) -> None:
    """The wasm module has words of its own for it."""
    if name == "MsgSudoContract":
        fields = {**fields, "contract": chain.account("bob")}
    if name.endswith("Addresses"):
        fields = {"addresses": [chain.account("bob")]}
    user = chain.account("ann")
    outcome = chain.run(chain.message(WASM + name, authority=user, **fields))
    assert outcome.log == f"invalid authority; expected {gov(chain)}, got {user}: invalid"
    assert outcome.error is not None
    assert (outcome.error.kind.codespace, outcome.error.kind.code) == ("wasm", 14)


def test_the_admin_decides_over_a_contract(chain: UnsignedChain) -> None:
    """Label and admin change on the admin's word or the governance's, not on another's."""
    contract = instance(chain, admin=chain.account("ann"))

    def relabel(sender: str, target: str = contract) -> Any:
        return chain.message(WASM + "MsgUpdateContractLabel", sender=sender, contract=target, new_label="new")

    assert chain.run(relabel(chain.account("bob"))).log == "can not modify contract: unauthorized"
    assert chain.run(relabel(chain.account("ann"), chain.account("bob"))).log == "unknown contract: invalid request"
    chain.done(relabel(chain.account("ann")))
    chain.done(relabel(gov(chain)))
    same = chain.message(
        WASM + "MsgUpdateAdmin", sender=chain.account("ann"), contract=contract, new_admin=chain.account("ann")
    )
    assert chain.run(same).log == "new admin is the same as the old: invalid"


def test_a_code_narrower_than_the_rest_is_not_migrated_to(chain: UnsignedChain) -> None:
    """The admin needs the right to use the new code; governance has every right."""
    contract = instance(chain, admin=chain.account("ann"))
    closed = stored(chain, OTHER, instantiate_permission={"permission": NOBODY})
    fields = {"contract": contract, "code_id": closed, "msg": b"{}"}
    refused = chain.run(chain.message(WASM + "MsgMigrateContract", sender=chain.account("ann"), **fields))
    assert refused.log == "to use new code: unauthorized"
    wider = chain.message(
        WASM + "MsgUpdateInstantiateConfig",
        sender=gov(chain),
        code_id=closed,
        new_instantiate_permission={"permission": ANY_OF, "addresses": [chain.account("ann")]},
    )
    (event,) = chain.done(wider).of_type("update_code_access_config")
    assert event == {
        "code_permission": "AnyOfAddresses",
        "code_id": str(closed),
        "authorized_addresses": chain.account("ann"),
    }
    chain.done(chain.message(WASM + "MsgMigrateContract", sender=chain.account("ann"), **fields))


def test_code_is_stored_and_used_in_one_message(chain: UnsignedChain) -> None:
    """Governance stores and instantiates, then stores and migrates; a user may do neither."""
    fields = {"wasm_byte_code": CODE, "label": "both", "msg": b"{}", "admin": chain.account("ann")}
    refused = chain.run(
        chain.message(WASM + "MsgStoreAndInstantiateContract", authority=chain.account("ann"), **fields)
    )
    assert refused.log == "can not create code: unauthorized"
    made = chain.done(chain.message(WASM + "MsgStoreAndInstantiateContract", authority=gov(chain), **fields))
    contract = made.response.address
    assert [event.type for event in made.events] == ["store_code", "instantiate"]
    moved = chain.done(
        chain.message(
            WASM + "MsgStoreAndMigrateContract",
            authority=gov(chain),
            wasm_byte_code=OTHER,
            contract=contract,
            msg=b"{}",
        )
    )
    assert (moved.response.code_id, moved.response.checksum) == (2, sha256(OTHER).digest())
    info = chain.ask(WASM + "Query/ContractInfo", address=contract).contract_info
    assert info.code_id == 2


def test_who_may_upload_is_a_list_that_grows_and_shrinks(chain: UnsignedChain) -> None:
    """Only where uploads are by list; an address is on it once."""
    ann, bob = chain.account("ann"), chain.account("bob")
    add, remove = WASM + "MsgAddCodeUploadParamsAddresses", WASM + "MsgRemoveCodeUploadParamsAddresses"
    assert chain.run(chain.message(add, authority=gov(chain), addresses=[ann])).log == "permission: invalid"
    params = {
        "instantiate_default_permission": EVERYBODY,
        "code_upload_access": {"permission": ANY_OF, "addresses": [ann]},
    }
    chain.done(chain.message(WASM + "MsgUpdateParams", authority=gov(chain), params=params))
    chain.done(chain.message(add, authority=gov(chain), addresses=[ann, bob]))
    listed = chain.ask(WASM + "Query/Params").params.code_upload_access.addresses
    assert list(listed) == [ann, bob]
    chain.done(chain.message(WASM + "MsgStoreCode", sender=bob, wasm_byte_code=CODE))
    chain.done(chain.message(remove, authority=gov(chain), addresses=[bob]))
    again = chain.message(WASM + "MsgStoreCode", sender=bob, wasm_byte_code=CODE)
    assert chain.run(again).log == "can not create code: unauthorized"
    doubled = chain.run(chain.message(add, authority=gov(chain), addresses=[ann, ann.upper()]))
    assert doubled.log == "duplicate addresses: duplicate"


def test_a_salt_with_a_fixed_message_gives_another_address(chain: UnsignedChain) -> None:
    """The message counts for the address only when it is said to be fixed."""
    fields = {"sender": chain.account("ann"), "code_id": stored(chain), "label": "x", "msg": b"{}", "salt": b"s"}
    plain = chain.done(chain.message(WASM + "MsgInstantiateContract2", **fields)).response.address
    fixed = chain.done(chain.message(WASM + "MsgInstantiateContract2", fix_msg=True, **fields)).response.address
    assert plain != fixed
    again = chain.run(chain.message(WASM + "MsgInstantiateContract2", fix_msg=True, **fields))
    assert again.log.startswith("contract address already exists")
