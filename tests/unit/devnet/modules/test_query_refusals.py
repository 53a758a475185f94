"""What queries refuse, and in which words: codes and texts are those of the original."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.devnet.open_chain import shared_chain

from leasehold.core.addresses import Bech32Prefixes
from leasehold.devnet.app.errors import Status, StatusError

SHORT = "decoding bech32 failed: invalid bech32 string length 3"
STRANGE = "cosmos1qqqsyqcyq5rqwzqfys8f67"
CHAIN = shared_chain()
PREFIX = CHAIN.devnet.settings.identity.prefix
ADDRESS = CHAIN.sender.address
NOBODY = Bech32Prefixes(PREFIX).account_text(bytes(20))
NO_VALIDATOR = Bech32Prefixes(PREFIX).operator_text(bytes(20))
BOTH = {"key": b"\x00", "offset": 1}
ONE_OF = "invalid request, either offset or key is expected, got both"
UNKNOWN, INVALID, MISSING, INTERNAL = Status.UNKNOWN, Status.INVALID_ARGUMENT, Status.NOT_FOUND, Status.INTERNAL
NS = CHAIN.devnet.settings.identity.namespace


def refused(path: str, fields: dict[str, Any]) -> tuple[Status, str]:
    with pytest.raises(StatusError) as caught:
        CHAIN.call(path, **fields)
    return caught.value.status, caught.value.message


@pytest.mark.parametrize(
    ("method", "fields", "status", "text"),
    [
        ("Account", {}, INVALID, "Address cannot be empty"),
        ("AccountInfo", {}, INVALID, "address cannot be empty"),
        ("ModuleAccountByName", {}, INVALID, "module name is empty"),
        ("AddressBytesToString", {}, UNKNOWN, "empty address bytes is not allowed"),
        ("AddressStringToBytes", {}, UNKNOWN, "empty address string is not allowed"),
    ],
)
def test_auth(method: str, fields: dict[str, Any], status: Status, text: str) -> None:
    """What is left out is told in as many ways as there are methods."""
    assert refused(f"/cosmos.auth.v1beta1.Query/{method}", fields) == (status, text)


def test_account_infos_repeat_the_address_as_it_was_asked_for() -> None:
    """Upper case is read, and shown again."""
    assert CHAIN.call("/cosmos.auth.v1beta1.Query/AccountInfo", address=ADDRESS.upper()).info.address == ADDRESS.upper()


def test_denom_metadata_read_backwards_from_its_last_entry_breaks() -> None:
    """The original trips over the end of the list and tells it."""
    path = "/cosmos.bank.v1beta1.Query/DenomsMetadata"
    last = CHAIN.call(path).metadatas[-1].base
    answer = refused(path, {"pagination": {"key": last.encode(), "limit": 1, "reverse": True}})
    assert answer == (INTERNAL, "prefixIterator invalid, cannot call Key()")
    request = CHAIN.method(path).request_type(pagination={"key": last.encode(), "limit": 1, "reverse": True})
    result = CHAIN.devnet.app.query(path, request.SerializeToString(), 0, False)
    assert (result.code, result.log) == (111222, "prefixIterator invalid, cannot call Key(): panic")


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"delegator_addr": "bad"}, SHORT),
        ({}, "empty address string is not allowed"),
        (
            {"src_validator_addr": NO_VALIDATOR, "dst_validator_addr": NO_VALIDATOR},
            "empty address string is not allowed",
        ),
        ({"src_validator_addr": "bad"}, SHORT),
        ({"delegator_addr": ADDRESS, "pagination": BOTH}, ONE_OF),
    ],
)
def test_redelegations(fields: dict[str, Any], text: str) -> None:
    """Whatever is wrong, it is an internal error."""
    assert refused("/cosmos.staking.v1beta1.Query/Redelegations", fields) == (INTERNAL, text)


def test_both_participants_are_missed_before_either_is_read() -> None:
    """A bad delegator is not noticed where the validator is missing."""
    fields = {"delegator_addr": "bad"}
    for method in ("Delegation", "UnbondingDelegation", "DelegatorValidator"):
        answer = refused(f"/cosmos.staking.v1beta1.Query/{method}", fields)
        assert answer == (INVALID, "validator address cannot be empty")


@pytest.mark.parametrize(
    ("method", "fields", "status", "text"),
    [
        ("ValidatorSlashes", {"validator_address": "bad"}, INVALID, "invalid validator address"),
        (
            "ValidatorSlashes",
            {"validator_address": "bad", "starting_height": 2, "ending_height": 1},
            INVALID,
            "starting height greater than ending height (2 > 1)",
        ),
        (
            "DelegationRewards",
            {"delegator_address": "bad", "validator_address": NO_VALIDATOR},
            UNKNOWN,
            "codespace staking code 3: validator does not exist",
        ),
        ("DelegationRewards", {"validator_address": "bad"}, INVALID, "empty delegator address"),
    ],
)
def test_distribution(method: str, fields: dict[str, Any], status: Status, text: str) -> None:
    """The validator is looked for before the delegator is read."""
    assert refused(f"/cosmos.distribution.v1beta1.Query/{method}", fields) == (status, text)


def test_a_bad_voter_is_not_noticed_without_proposals() -> None:
    """Addresses are read proposal by proposal."""
    answer = CHAIN.call("/cosmos.gov.v1.Query/Proposals", voter="bad", depositor="bad")
    assert list(answer.proposals) == []


@pytest.mark.parametrize(
    ("method", "fields", "status", "text"),
    [
        ("ContractInfo", {"address": STRANGE}, UNKNOWN, f"invalid Bech32 prefix; expected {PREFIX}, got cosmos"),
        (
            "ContractsByCreator",
            {"creator_address": "bad", "pagination": {"offset": 1}},
            INVALID,
            "offset and count queries not supported",
        ),
        (
            "AllContractState",
            {"address": NOBODY, "pagination": {"offset": 1}},
            INVALID,
            "offset and count queries not supported",
        ),
        (
            "ContractInfo",
            {"address": NOBODY.upper()},
            UNKNOWN,
            f"codespace wasm code 22: no such contract: address {NOBODY}",
        ),
        ("BuildAddress", {"code_hash": "xy"}, UNKNOWN, "invalid code hash: encoding/hex: invalid byte: U+0078 'x'"),
        ("BuildAddress", {"creator_address": "bad"}, UNKNOWN, f"invalid creator address: {SHORT}"),
        (
            "BuildAddress",
            {"creator_address": ADDRESS, "salt": "a"},
            UNKNOWN,
            "invalid salt: encoding/hex: odd length hex string",
        ),
        ("BuildAddress", {"creator_address": ADDRESS}, INVALID, "empty salt"),
        ("BuildAddress", {"creator_address": ADDRESS, "salt": "61"}, INTERNAL, "invalid checksum"),
        (
            "BuildAddress",
            {"creator_address": ADDRESS, "salt": "61", "code_hash": "ab" * 32, "init_args": b"{"},
            UNKNOWN,
            "codespace wasm code 14: invalid",
        ),
    ],
)
def test_wasm(method: str, fields: dict[str, Any], status: Status, text: str) -> None:
    """Contracts are found by an older reader of addresses; paging is looked at before they are looked for."""
    assert refused(f"/cosmwasm.wasm.v1.Query/{method}", fields) == (status, text)


@pytest.mark.parametrize(
    ("method", "fields", "status", "text"),
    [
        (
            "Denom",
            {"hash": "AB"},
            INVALID,
            "invalid denom trace hash: , error: expected size to be 32 bytes, got 1 bytes",
        ),
        ("Denom", {"hash": "x"}, INVALID, "invalid denom trace hash: , error: encoding/hex: invalid byte: U+0078 'x'"),
        ("Denom", {}, MISSING, ": denomination not found"),
        ("DenomHash", {}, INVALID, "base denomination cannot be blank: invalid denomination for cross-chain transfer"),
        (
            "DenomHash",
            {"trace": "transfer/channel-0/ "},
            INVALID,
            "base denomination cannot be blank: invalid denomination for cross-chain transfer",
        ),
        ("DenomHash", {"trace": "transfer/channel-9/x"}, MISSING, "transfer/channel-9/x: denomination not found"),
    ],
)
def test_transfer(method: str, fields: dict[str, Any], status: Status, text: str) -> None:
    """Hashes have their size, and a path ends with a denom."""
    assert refused(f"/ibc.applications.transfer.v1.Query/{method}", fields) == (status, text)


def test_the_chains_connection_to_itself_is_not_listed_under_its_client() -> None:
    """It is there, yet no client has it."""
    answer = refused("/ibc.core.connection.v1.Query/ClientConnections", {"client_id": "09-localhost"})
    assert answer == (MISSING, "09-localhost: light client connection paths not found")


@pytest.mark.parametrize(
    ("path", "fields", "status", "text"),
    [
        ("contractmanager.Query/Failures", {"address": "bad"}, INVALID, "failed to parse address: bad"),
        ("contractmanager.Query/AddressFailure", {"address": "bad"}, INVALID, f"invalid address: {SHORT}"),
        ("contractmanager.Query/Failures", {"pagination": BOTH}, INTERNAL, ONE_OF),
        (
            "contractmanager.Query/AddressFailures",
            {"pagination": {"limit": 101}},
            INVALID,
            "limit is more than maximum allowed (101 > 100)",
        ),
        (
            "interchaintxs.v1.Query/InterchainAccountAddress",
            {"owner_address": "bad"},
            UNKNOWN,
            "codespace sdk code 18: invalid request: failed to create ica owner: "
            f"failed to decode address from bech32: {SHORT}: invalid account address",
        ),
        (
            "interchaintxs.v1.Query/InterchainAccountAddress",
            {"owner_address": ADDRESS, "interchain_account_id": "0", "connection_id": "connection-99"},
            UNKNOWN,
            "codespace interchaintxs code 1102: interchain account not found: "
            f"no interchain account found for portID icacontroller-{ADDRESS}.0",
        ),
    ],
)
def test_own_modules(path: str, fields: dict[str, Any], status: Status, text: str) -> None:
    """The chain's own modules have texts of their own."""
    assert refused(f"/{NS}.{path}", fields) == (status, text)


@pytest.mark.parametrize(
    ("path", "fields", "status", "text"),
    [
        ("evidence.v1beta1.Query/Evidence", {}, INVALID, "invalid request; hash is empty"),
        (
            "evidence.v1beta1.Query/Evidence",
            {"hash": "abc"},
            UNKNOWN,
            "invalid evidence hash: encoding/hex: odd length hex string",
        ),
        (
            "params.v1beta1.Query/Params",
            {"subspace": "wasm", "key": "x"},
            UNKNOWN,
            "codespace params code 2: unknown subspace: wasm",
        ),
        (
            "base.tendermint.v1beta1.Service/GetLatestValidatorSet",
            {"pagination": {"limit": 2**63}},
            INVALID,
            "limit must greater than 0",
        ),
        (
            "base.tendermint.v1beta1.Service/GetLatestValidatorSet",
            {"pagination": {"offset": 2**63}},
            INVALID,
            "offset must greater than 0",
        ),
        (
            "tx.v1beta1.Service/TxDecode",
            {"tx_bytes": b"abc"},
            UNKNOWN,
            "codespace sdk code 2: tx parse error: expected 2 wire type, got 1",
        ),
    ],
)
def test_services(path: str, fields: dict[str, Any], status: Status, text: str) -> None:
    """The rest."""
    assert refused(f"/cosmos.{path}", fields) == (status, text)


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("client.v1.Query/ConsensusStates", {"client_id": "07-tendermint-0"}),
        ("client.v1.Query/ConsensusStateHeights", {"client_id": "07-tendermint-0"}),
        ("channel.v2.Query/PacketCommitments", {"client_id": "07-tendermint-0"}),
        ("channel.v2.Query/PacketAcknowledgements", {"client_id": "07-tendermint-0"}),
    ],
)
def test_empty_lists_are_paged_too(path: str, fields: dict[str, Any]) -> None:
    """An offset beside a key is refused, whether there is something or not."""
    assert refused(f"/ibc.core.{path}", {**fields, "pagination": BOTH}) == (UNKNOWN, ONE_OF)


def test_bytes_of_an_address_are_shown_one_by_one() -> None:
    """A character of several bytes is told by the first of them."""
    answer = refused("/cosmos.auth.v1beta1.Query/Account", {"address": "chain1éxkcuwce8h035"})
    assert answer == (UNKNOWN, "decoding bech32 failed: invalid character in string: '\u00c3'")


def test_denoms_are_ordered_by_what_they_are_made_of() -> None:
    """Base, then the number of hops, then the path; not by the hash they are kept under."""
    denoms = CHAIN.call("/ibc.applications.transfer.v1.Query/Denoms").denoms
    keys = [(denom.base, len(denom.trace), [hop.channel_id for hop in denom.trace]) for denom in denoms]
    assert len(keys) > 1
    assert keys == sorted(keys)
