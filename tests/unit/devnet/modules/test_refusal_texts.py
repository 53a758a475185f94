"""What messages are refused with: the kind of the error and the very words, module by module."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.devnet.modules.unsigned_chain import DENOM, UnsignedChain

COSMOS = "cosmos1qqqsyqcyq5rqwzqfys8f67"


@pytest.fixture
def chain() -> UnsignedChain:
    return UnsignedChain("one", "two")


def refusal(chain: UnsignedChain, name: str, **fields: Any) -> tuple[str, int, str]:
    """Codespace, code and log of a message that is refused by its stateless check or its handler."""
    found = chain.run(chain.message(name, **fields)).error
    assert found is not None
    return found.kind.codespace, found.kind.code, found.log


def test_no_coins_at_all_leave_a_colon(chain: UnsignedChain) -> None:
    """The text of no coins is empty, and what it opens still ends in a colon."""
    ends = {"from_address": chain.account("one"), "to_address": chain.account("two")}
    expected = ("sdk", 10, ": invalid coins")
    assert refusal(chain, "cosmos.bank.v1beta1.MsgSend", **ends) == expected
    assert refusal(chain, "cosmos.vesting.v1beta1.MsgCreateVestingAccount", **ends, end_time=2) == expected


def test_addresses_of_other_chains_are_refused_in_the_words_of_who_reads_them(chain: UnsignedChain) -> None:
    """Some modules read addresses with the older function, some wrap the error, some pass its own kind on."""
    one, prefix = chain.account("one"), chain.prefixes.account
    older = f"invalid Bech32 prefix; expected {prefix}, got cosmos"
    newer = f"hrp does not match bech32 prefix: expected '{prefix}' got 'cosmos': internal logic error"
    coins = [{"denom": DENOM, "amount": "1"}]
    sent = {"inputs": [{"address": one, "coins": coins}], "outputs": [{"address": COSMOS, "coins": coins}]}
    found = refusal(chain, "cosmos.bank.v1beta1.MsgMultiSend", **sent)
    assert found == ("sdk", 7, f"invalid output address: {older}: invalid address")
    found = refusal(chain, "cosmwasm.wasm.v1.MsgExecuteContract", sender=one, contract=COSMOS, msg=b"{}")
    assert found == ("undefined", 1, f"contract: {older}")
    found = refusal(chain, "cosmwasm.wasm.v1.MsgStoreCode", sender=COSMOS, wasm_byte_code=b"x")
    assert found == ("undefined", 1, older)
    found = refusal(chain, "cosmos.feegrant.v1beta1.MsgRevokeAllowance", granter=one, grantee=COSMOS)
    assert found == ("sdk", 35, newer)


@pytest.mark.parametrize(
    ("bytecode", "words"),
    [
        (b"not wasm", "actual=[\n    0x6e,\n    0x6f,\n    0x74,\n    0x20,\n] (at offset 0x0)"),
        (b"\0as", "unexpected end-of-file (at offset 0x0)"),
    ],
)
def test_bytes_that_are_no_module_are_shown(chain: UnsignedChain, bytecode: bytes, words: str) -> None:
    """The parser's refusal lists the bytes it found where a module begins."""
    codespace, code, log = refusal(
        chain, "cosmwasm.wasm.v1.MsgStoreCode", sender=chain.modules.gov.authority, wasm_byte_code=bytecode
    )
    assert (codespace, code) == ("wasm", 2)
    assert log.endswith(f'{words}": create wasm contract failed')


@pytest.mark.parametrize(
    ("title", "description", "fault"),
    [
        ("t" * 141, "d", "proposal title is longer than max length of 140"),
        ("t", "d" * 10_001, "proposal description is longer than max length of 10000"),
    ],
)
def test_legacy_contents_have_limits(chain: UnsignedChain, title: str, description: str, fault: str) -> None:
    """Contents of the first version of proposals are bounded before they become a message of the second."""
    content = chain.message("cosmos.gov.v1beta1.TextProposal", title=title, description=description)
    packed = chain.registry.pack(content)
    found = refusal(chain, "cosmos.gov.v1beta1.MsgSubmitProposal", content=packed, proposer=chain.account("one"))
    assert found == ("gov", 5, f"{fault}: invalid proposal content")


def test_vouchers_without_digest_can_not_be_transferred(chain: UnsignedChain) -> None:
    """A denom that begins as a voucher's must go on as one."""
    fields = {"source_port": "transfer", "source_channel": "channel-0", "sender": chain.account("one"), "receiver": "x"}
    found = refusal(
        chain, "ibc.applications.transfer.v1.MsgTransfer", token={"denom": "ibc/xyz", "amount": "5"}, **fields
    )
    assert found == ("ibc", 6, "5ibc/xyz: invalid coins")


def test_grants_that_are_not_there_are_told_by_their_key(chain: UnsignedChain) -> None:
    """The key of a missing grant is shown with a mark for every byte that is no text."""
    fields = {"granter": chain.account("one"), "grantee": chain.account("two"), "msg_type_url": "/x"}
    codespace, code, log = refusal(chain, "cosmos.authz.v1beta1.MsgRevoke", **fields)
    assert (codespace, code) == ("authz", 2)
    assert log.startswith("failed to delete grant with key \1\x14")
    assert log.endswith("/x: authorization not found")
