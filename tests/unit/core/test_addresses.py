"""Addresses are decoded strictly and derived as every Cosmos chain derives them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.core import addresses
from leasehold.core.addresses import Bech32Prefixes, InvalidAddress

CHAIN = Bech32Prefixes("chain")
PREFIXES = st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=1, max_size=20)


@given(PREFIXES, st.binary(max_size=64))
def test_text_and_bytes_are_the_same_address(prefix: str, data: bytes) -> None:
    """Encoding and decoding are inverse for every prefix and length."""
    assert addresses.decode(addresses.encode(prefix, data)) == (prefix, data)
    assert addresses.decode(addresses.encode(prefix, data).upper()) == (prefix, data)


@given(st.binary(min_size=20, max_size=20), st.integers(0, 43), st.integers(1, 31))
def test_one_wrong_character_is_noticed(data: bytes, place: int, shift: int) -> None:
    """Changing any one character behind the prefix breaks the checksum."""
    alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
    text = CHAIN.account_text(data)
    index = len("chain1") + place % (len(text) - len("chain1"))
    other = alphabet[(alphabet.index(text[index]) + shift) % 32]
    with pytest.raises(InvalidAddress, match="checksum"):
        addresses.decode(text[:index] + other + text[index + 1 :])


@pytest.mark.parametrize(
    "text", ["A12UEL5L", "a12uel5l", "split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w", "?1ezyfcl"]
)
def test_published_examples_have_valid_checksums(text: str) -> None:
    """The bech32 specification's own examples pass."""
    prefix, _ = addresses.decode(text)
    assert text.lower().startswith(prefix + "1")


@pytest.mark.parametrize("text", ["A1LQFN3A", "a1lqfn3a", "?1v759aa", "abcdef1l7aum6echk45nj3s0wdvt2fg8x9yrzpqzd3ryx"])
def test_either_checksum_names_a_prefix(text: str) -> None:
    """The examples of bech32m's specification have a prefix, as those of bech32 do; an address they are not."""
    assert text.lower().startswith(addresses.prefix_of(text) + "1")
    assert addresses.prefix_of("a12uel5l") == "a"
    for wrong in (text, text[:-1] + ("q" if text[-1] != "q" else "p")):
        with pytest.raises(InvalidAddress):
            addresses.decode(wrong)
    with pytest.raises(InvalidAddress, match=r"checksum|mixes"):
        addresses.prefix_of(wrong)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "empty"),
        ("chain1\x7fx", "outside printable"),
        ("chain1é", "outside printable"),
        ("Chain1qqqqqq", "mixes"),
        ("qqqqqqqq", "not a bech32"),
        ("1qqqqqqq", "not a bech32"),
        ("chain1qqqqb", "not a bech32"),
        ("chain1bqqqqqq", "alphabet"),
        ("chain1qqqqqqqq", "checksum"),
        ("a" * 1024 + "1qqqqqq", "not a bech32"),
    ],
)
def test_what_is_no_address_is_told_apart(text: str, complaint: str) -> None:
    """Every way to be wrong has its own words, and the error names the field."""
    with pytest.raises(InvalidAddress, match=complaint) as error:
        addresses.decode(text)
    assert error.value.field == "address"
    assert error.value.status == 400


def test_non_zero_padding_is_refused() -> None:
    """Two texts never mean the same bytes: spare bits must be zero."""
    words = [0, 1]  # ten bits: one byte and two spare bits, of which the last is set
    checksum = addresses._polymod([*addresses._expand("chain"), *words, 0, 0, 0, 0, 0, 0]) ^ 1
    words += [checksum >> 5 * (5 - i) & 31 for i in range(6)]
    text = "chain1" + "".join("qpzry9x8gf2tvdw0s3jn54khce6mua7l"[word] for word in words)
    with pytest.raises(InvalidAddress, match="padding"):
        addresses.decode(text)


def test_kinds_of_address_are_told_apart() -> None:
    """Prefix, case and length are all checked, and the error names the field asked for."""
    wallet, contract = CHAIN.account_text(bytes(20)), CHAIN.account_text(bytes(32))
    operator = CHAIN.operator_text(bytes(20))
    assert CHAIN.account_bytes(wallet) == CHAIN.wallet_bytes(wallet) == bytes(20)
    assert CHAIN.account_bytes(contract) == CHAIN.contract_bytes(contract) == bytes(32)
    assert CHAIN.operator_bytes(operator) == bytes(20)
    assert CHAIN.consensus_text(bytes(20)).startswith("chainvalcons1")
    for wrong in (
        lambda: CHAIN.wallet_bytes(contract, field="owner"),
        lambda: CHAIN.contract_bytes(wallet, field="owner"),
        lambda: CHAIN.account_bytes(operator, field="owner"),
        lambda: CHAIN.operator_bytes(wallet, field="owner"),
        lambda: CHAIN.account_bytes(wallet.upper(), field="owner"),
        lambda: CHAIN.account_bytes(wallet[:-1], field="owner"),
        lambda: Bech32Prefixes("nolus").account_bytes(wallet, field="owner"),
    ):
        with pytest.raises(InvalidAddress) as error:
            wrong()
        assert error.value.field == "owner"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (addresses.module_address("fee_collector"), "cosmos17xpfvakm2amg962yls6f84z3kell8c5lserqta"),
        (addresses.module_address("gov"), "cosmos10d07y265gmmuvt4z0w9aw880jnsr700j6zn9kn"),
        (
            addresses.contract_address(1, 1),
            "cosmos14hj2tavq8fpesdwxxcu44rty3hh90vhujrvcmstl4zr3txmfvw9s4hmalr",
        ),
        (addresses.escrow_address("transfer", "channel-0"), "cosmos1a53udazy8ayufvy0s434pfwjcedzqv34kvz9tw"),
    ],
)
def test_derived_addresses_are_the_public_ones(data: bytes, text: str) -> None:
    """Module, contract and escrow accounts have the addresses known from public chains."""
    assert addresses.encode("cosmos", data) == text


def test_key_addresses() -> None:
    """A secp256k1 key hashes as in Bitcoin, an ed25519 key as in CometBFT."""
    generator = bytes.fromhex("0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798")
    assert addresses.secp256k1_address(generator).hex() == "751e76e8199196d454941c45d1b3a323f1433bd6"
    assert (
        addresses.ed25519_address(bytes(32)).hex()
        == "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"[:40]
    )


def test_salted_contracts_depend_on_every_part() -> None:
    """Checksum, creator, salt and message each change a predictable address; lengths keep them apart."""
    base = (bytes(32), bytes(20), b"salt", b"")
    variants = [base, (b"\x01" * 32, *base[1:]), (base[0], b"\x01" * 20, *base[2:]), (*base[:2], b"sal", b"t")]
    assert len({addresses.predictable_contract_address(*parts) for parts in variants}) == 4
    assert len(addresses.predictable_contract_address(*base)) == 32


def test_voucher_denoms_are_the_public_ones() -> None:
    """The denom of a voucher is known from public chains."""
    assert (
        addresses.ibc_denom("transfer/channel-0/uatom")
        == "ibc/27394FB092D2ECCD56123C74F36E4C1F926001CEADA9CA97EA622B25F41E5EB2"
    )
