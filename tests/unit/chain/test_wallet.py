from __future__ import annotations

from typing import Any

import pytest
from coincurve import PublicKey

from leasehold.chain.registry import registry
from leasehold.chain.transactions import DIRECT, EIP_191, LEGACY_AMINO_JSON, decode_transaction, sign_bytes
from leasehold.chain.wallet import Wallet, derived_key, mnemonic_seed

TYPES = registry()
ZEROS = "abandon " * 11 + "about"
WHERE: dict[str, Any] = {"sequence": 3, "account_number": 7, "chain_id": "c-1"}


def test_the_published_seed_of_a_published_mnemonic() -> None:
    """BIP-39's first vector gives its seed."""
    seed = mnemonic_seed(ZEROS, "TREZOR").hex()
    assert seed.startswith("c55257c360c07c72029aebc1b53c05ed0362ada38ead3e3e9efa3708e5349553")


def test_the_published_keys_of_a_published_seed() -> None:
    """BIP-32's first vector gives its keys, hardened and not."""
    seed = bytes.fromhex("000102030405060708090a0b0c0d0e0f")
    assert derived_key(seed, "0'").hex() == "edb2e14f9ee77d26dd93b4ecede8d16ed408ce149b6cd80b0715a2d911a0afea"
    assert derived_key(seed, "0'/1").hex() == "3c6cb8d0f6a264c91ea8b5030fadaa8e538b020f0a387421a12de9319dc93368"


def test_a_known_address() -> None:
    """The address wallets show for the all-abandon mnemonic."""
    wallet = Wallet.from_mnemonic(ZEROS, prefix="cosmos")
    assert wallet.address == "cosmos19rl4cm2hmr8afy4kldpxz3fka4jguq0auqdal4"


@pytest.mark.parametrize("mode", [DIRECT, LEGACY_AMINO_JSON, EIP_191])
def test_signed_transactions_carry_the_key_and_decode(mode: int) -> None:
    """Every mode yields a transaction with key, mode and sequence in its signer info and the key's signature."""
    wallet = Wallet.from_name("bob", prefix="chain")
    message = TYPES.new("cosmos.bank.v1beta1.MsgSend", from_address=wallet.address)
    fields: dict[str, Any] = {"fee": {"u": 1}, "gas": 5, "memo": "<é>", "timeout_height": 9, **WHERE}
    if mode == DIRECT:
        raw = wallet.sign_direct([message], **fields)
    else:
        raw = wallet.sign_json([message], mode=mode, **fields)
    transaction = decode_transaction(TYPES, raw)
    info = transaction.auth_info.signer_infos[0]
    assert TYPES.unpack(info.public_key).key == wallet.public_key
    assert (info.mode_info.single.mode, info.sequence, transaction.body.timeout_height) == (mode, 3, 9)
    document = sign_bytes(TYPES, transaction, mode, **WHERE)
    again = wallet.sign_keccak(document) if mode == EIP_191 else wallet.sign(document)
    assert transaction.signatures == (again,)


def test_signatures_are_valid_and_low() -> None:
    """A signature verifies, and its s is in the lower half."""
    wallet = Wallet.from_name("carol", prefix="chain")
    signature = wallet.sign(b"message")
    r, s = (int.from_bytes(part, "big") for part in (signature[:32], signature[32:]))
    parts = [value.to_bytes(value.bit_length() // 8 + 1, "big") for value in (r, s)]
    body = b"".join(b"\x02" + bytes([len(part)]) + part for part in parts)
    assert PublicKey(wallet.public_key).verify(b"\x30" + bytes([len(body)]) + body, b"message")
    assert s <= 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0


def test_a_wallet_does_not_show_its_key() -> None:
    """The repr is the address."""
    wallet = Wallet.from_name("dave", prefix="chain")
    assert repr(wallet) == f"Wallet({wallet.address})"
