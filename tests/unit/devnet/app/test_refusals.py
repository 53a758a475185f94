"""Transactions that the checks before their messages refuse: codes, texts and the order of the checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.devnet.open_chain import OpenChain, shared_chain

from leasehold.chain.transactions import decode_transaction, encode_transaction
from leasehold.chain.wallet import Wallet
from leasehold.devnet.app.signatures import Signer, Verifier, only_amino

DIRECT_AUX, EIP_191, UNSPECIFIED = 3, 191, 0

Change = Callable[[Any, Any], None]


def checked(chain: OpenChain, change: Change, *, mode: int = 1, sender: str | None = None) -> tuple[str, int, str]:
    """Codespace, code and log of a send whose body and auth info were changed before they were encoded."""
    types = chain.devnet.registry
    message = types.new(
        "cosmos.bank.v1beta1.MsgSend",
        from_address=chain.sender.address if sender is None else sender,
        to_address=chain.sender.address,
        amount=[{"denom": chain.denom, "amount": "1"}],
    )
    _, sequence = chain.sequence()
    body_bytes, auth_bytes = chain.sender.unsigned(
        [message], fee={chain.denom: 5_000}, gas=300_000, sequence=sequence, mode=mode
    )
    body = types.parse("cosmos.tx.v1beta1.TxBody", body_bytes)
    auth = types.parse("cosmos.tx.v1beta1.AuthInfo", auth_bytes)
    change(body, auth)
    raw = encode_transaction(types, body.SerializeToString(), auth.SerializeToString(), [b"\1" * 64])
    answer = chain.devnet.app.check_tx(raw)
    return answer.codespace, answer.code, answer.log


def fee(*coins: tuple[str, str]) -> Change:
    def change(_: Any, auth: Any) -> None:
        del auth.fee.amount[:]
        for amount, denom in coins:
            auth.fee.amount.add(denom=denom, amount=amount)

    return change


def test_a_zero_fee_in_the_base_denom_is_too_small() -> None:
    """A fee of nothing is a fee in that denom, not one in none."""
    chain = shared_chain()
    codespace, code, log = checked(chain, fee(("0", chain.denom)))
    assert (codespace, code) == ("sdk", 13)
    assert log == f"insufficient fees; got: 0{chain.denom} required: 750{chain.denom}: insufficient fee"


def test_coins_of_a_fee_named_twice_are_invalid() -> None:
    """The minimum is met, then the list itself is refused."""
    chain = shared_chain()
    twice = fee(("5000", chain.denom), ("5000", chain.denom))
    log = f"invalid fee amount: 5000{chain.denom},5000{chain.denom}: insufficient fee"
    assert checked(chain, twice) == ("sdk", 13, log)


def test_a_fee_in_a_denom_nobody_takes_is_no_valid_request() -> None:
    """The refusal names the coins and wraps the tax module's words."""
    log = "no fee param found for denoms: 5000nosuch: denom is not allowed: invalid request"
    assert checked(shared_chain(), fee(("5000", "nosuch"))) == ("sdk", 18, log)


def test_coins_out_of_order_hide_the_base_denom() -> None:
    """The base denom is looked for by halves: in a disorder it is not found, and the first coin is judged."""
    chain = shared_chain()
    accepted = chain.devnet.app.modules.tax.params(chain.devnet.app.context()).dex_fee_params
    other = accepted[0].accepted_denoms_min_prices[0].denom
    assert other < chain.denom
    log = f"denom({chain.denom}) is not allowed: denom is not allowed"
    assert checked(chain, fee(("5000", chain.denom), ("5000", other))) == ("tax", 4, log)


def _payer(text: str) -> Change:
    def change(_: Any, auth: Any) -> None:
        auth.fee.payer = text

    return change


def test_a_fee_payer_that_is_no_address_is_named_so() -> None:
    """The text of the address's fault stands in brackets."""
    log = "Invalid fee payer address (decoding bech32 failed: invalid separator index -1): invalid address"
    assert checked(shared_chain(), _payer("noaddress")) == ("sdk", 7, log)


@pytest.mark.parametrize(
    ("sender", "expected"),
    [
        ("", ("undefined", 1, "empty address string is not allowed")),
        ("noaddress", ("undefined", 1, "decoding bech32 failed: invalid separator index -1")),
        (
            "cosmos1qqqsyqcyq5rqwzqfys8f67",
            ("sdk", 35, "hrp does not match bech32 prefix: expected '{}' got 'cosmos': internal logic error"),
        ),
    ],
)
def test_a_sender_that_is_no_address_has_no_code_of_its_own(sender: str, expected: tuple[str, int, str]) -> None:
    """Who signs is found out after decoding, so a bad address is no parse error."""
    chain = shared_chain()
    codespace, code, log = expected
    prefix = chain.devnet.settings.identity.prefix
    assert checked(chain, lambda body, auth: None, sender=sender) == (codespace, code, log.format(prefix))


def _mode(number: int) -> Change:
    def change(_: Any, auth: Any) -> None:
        auth.signer_infos[0].mode_info.single.mode = number

    return change


def test_a_bad_signature_over_ethereums_prefix_is_told_as_one() -> None:
    """The refusal of EIP-191 says which kind of signature it is."""
    codespace, code, log = checked(shared_chain(), lambda body, auth: None, mode=EIP_191)
    assert (codespace, code) == ("sdk", 4)
    assert f"(unable to verify single signer eip191 signature {'01' * 64} for signBytes 19457468" in log


@pytest.mark.parametrize(
    ("mode", "refusal"),
    [
        (UNSPECIFIED, "unsupported sign mode SIGN_MODE_UNSPECIFIED"),
        (DIRECT_AUX, "fee payer {} cannot sign with SIGN_MODE_DIRECT_AUX"),
    ],
)
def test_modes_nobody_can_sign_in_are_named(mode: int, refusal: str) -> None:
    """A mode without a handler, and the one in which the fee's payer must not sign."""
    chain = shared_chain()
    codespace, code, log = checked(chain, _mode(mode))
    assert (codespace, code) == ("sdk", 4)
    assert log.endswith(f": ({refusal.format(chain.sender.address)}): unauthorized")


def test_a_transaction_without_mode_has_no_signature_data() -> None:
    """A signer without mode info has signed nothing."""

    def change(_: Any, auth: Any) -> None:
        auth.signer_infos[0].ClearField("mode_info")

    assert checked(shared_chain(), change) == ("undefined", 1, "got empty SignatureData")


def test_a_key_of_somebody_else_is_refused_before_the_sequence() -> None:
    """The key that comes along must be the signer's."""
    chain = shared_chain()

    def change(_: Any, auth: Any) -> None:
        stranger = Wallet.from_name("stranger", prefix=chain.sender.prefix, types=chain.devnet.registry)
        auth.signer_infos[0].public_key.CopyFrom(stranger.packed_public_key)
        auth.signer_infos[0].sequence = 99

    log = f"pubKey does not match signer address {chain.sender.address} with signer index: 0: invalid pubkey"
    assert checked(chain, change) == ("sdk", 8, log)


def test_a_first_transaction_without_key_has_one_of_no_kind() -> None:
    """An account that never signed is known by no key; that is found before its sequence is compared."""

    def change(_: Any, auth: Any) -> None:
        auth.signer_infos[0].ClearField("public_key")
        auth.signer_infos[0].sequence = 99

    assert checked(shared_chain(), change) == ("sdk", 8, "unrecognized public key type: <nil>: invalid pubkey")


def _threshold(chain: OpenChain) -> Any:
    key = chain.sender.packed_public_key
    types = chain.devnet.registry
    return types.new("cosmos.crypto.multisig.LegacyAminoPubKey", threshold=2, public_keys=[key, key])


@pytest.mark.parametrize(
    ("bits", "modes", "refusal"),
    [
        (3, [1, 1], "bit array size is incorrect, expecting: 2"),
        (2, [1], "signature size is incorrect 1"),
        (2, [1, 1], "unable to verify signature at index 0"),
    ],
)
def test_what_is_wrong_with_a_multisignature_is_told(bits: int, modes: list[int], refusal: str) -> None:
    """Unless all signed amino JSON, the refusal says what does not fit."""
    chain = shared_chain()
    types = chain.devnet.registry
    parts = types.new("cosmos.crypto.multisig.v1beta1.MultiSignature", signatures=[b"\1" * 64] * len(modes))
    info = types.new(
        "cosmos.tx.v1beta1.ModeInfo",
        multi={
            "bitarray": {"extra_bits_stored": bits, "elems": b"\xff"},
            "mode_infos": [{"single": {"mode": mode}} for mode in modes],
        },
    )
    verifier = Verifier(types, decode_transaction(types, chain.send(1)))
    signer = Signer(chain_id="c", account_number=0, sequence=0)
    assert verifier.refusal(_threshold(chain), info, parts.SerializeToString(), signer) == refusal
    assert not only_amino(info)


def test_no_gas_is_wanted_before_a_transaction_makes_sense() -> None:
    """Bytes that are no transaction and messages that make no sense have asked for nothing yet."""
    chain = shared_chain()
    types, sender = chain.devnet.registry, chain.sender.address
    call = types.new("cosmwasm.wasm.v1.MsgExecuteContract", sender=sender, contract=sender, msg=b"{")
    body, auth = chain.sender.unsigned([call], fee={chain.denom: 5_000}, gas=300_000, sequence=0)
    for raw in (b"\xff", encode_transaction(types, body, auth, [b"\1" * 64])):
        answer = chain.devnet.app.check_tx(raw)
        assert answer.code in (2, 14)
        assert (answer.gas_wanted, answer.gas_used) == (0, 1162)
