from __future__ import annotations

import pytest
from google.protobuf import descriptor_pb2

from leasehold.chain import proto_build
from leasehold.chain.registry import HttpRule, MalformedMessage, Registry, UnknownType, registry


@pytest.fixture(scope="module")
def types() -> Registry:
    return registry()


def _own_files(data: bytes) -> dict[str, bytes]:
    files = descriptor_pb2.FileDescriptorSet.FromString(data).file
    return {file.name: file.SerializeToString() for file in files if not file.name.startswith("google/protobuf/")}


def test_the_committed_descriptor_set_is_what_the_sources_compile_to() -> None:
    """Whoever edits a .proto file must build the set again."""
    assert _own_files(proto_build.compile_descriptors()) == _own_files(proto_build.TARGET.read_bytes())


def test_a_packed_message_comes_back(types: Registry) -> None:
    """What is packed under its type URL unpacks to an equal message."""
    message = types.new("cosmos.bank.v1beta1.MsgSend", from_address="a", amount=[{"denom": "u", "amount": "5"}])
    packed = types.pack(message)
    assert packed.type_url == "/cosmos.bank.v1beta1.MsgSend"
    assert types.unpack(packed) == message


def test_an_unknown_type_url_is_named(types: Registry) -> None:
    """An unknown type URL is refused with the URL in the text."""
    with pytest.raises(UnknownType, match=r"unable to resolve type URL /no\.such\.Msg"):
        types.unpack(types.new("google.protobuf.Any", type_url="/no.such.Msg"))


def test_malformed_bytes_are_refused(types: Registry) -> None:
    """Truncated protobuf is a typed error."""
    with pytest.raises(MalformedMessage):
        types.parse("cosmos.bank.v1beta1.MsgSend", b"\x0a\xff")


@pytest.mark.parametrize(
    ("name", "fields", "signers"),
    [
        ("cosmos.bank.v1beta1.MsgSend", {"from_address": "a"}, ["a"]),
        (
            "cosmos.bank.v1beta1.MsgMultiSend",
            {"inputs": [{"address": "a"}, {"address": "b"}, {"address": "a"}]},
            ["a", "b"],
        ),
        ("cosmwasm.wasm.v1.MsgExecuteContract", {"sender": "s", "contract": "c"}, ["s"]),
        ("leasehold.vestings.v1beta1.MsgCreateVestingAccount", {"from_address": "f"}, ["f"]),
    ],
)
def test_signers_are_read_from_the_options(
    types: Registry, name: str, fields: dict[str, object], signers: list[str]
) -> None:
    """The signer option names the fields, also through nested messages, each address once."""
    assert types.signers(types.new(name, **fields)) == signers


def test_methods_carry_their_bindings(types: Registry) -> None:
    """A method knows its path, its classes and every LCD binding, the additional ones too."""
    method = types.method_by_path["/cosmos.bank.v1beta1.Query/DenomMetadata"]
    assert method.http == (HttpRule("GET", "/cosmos/bank/v1beta1/denoms_metadata/{denom=**}", ""),)
    assert method.request_type is types.type("cosmos.bank.v1beta1.QueryDenomMetadataRequest")
    broadcast = types.method_by_path["/cosmos.tx.v1beta1.Service/BroadcastTx"]
    assert broadcast.http == (HttpRule("POST", "/cosmos/tx/v1beta1/txs", "*"),)


def test_options_describe_fields(types: Registry) -> None:
    """Custom types, nullability and amino options are readable."""
    fields = types.type("cosmos.staking.v1beta1.Validator").DESCRIPTOR.fields_by_name
    assert types.field_traits(fields["delegator_shares"]).customtype == "LegacyDec"
    assert not types.field_traits(fields["commission"]).nullable
    assert types.field_traits(fields["consensus_pubkey"]).accepts_interface == "cosmos.crypto.PubKey"


def test_a_namespace_renames_the_chains_own_modules() -> None:
    """Packages, files, type names, LCD paths and amino names follow the namespace; nothing keeps the old one."""
    types = Registry("other")
    method = types.method_by_path["/other.tax.v2.Query/Params"]
    assert method.http == (HttpRule("GET", "/other/tax/v2/params", ""),)
    vesting = types.type("other.vestings.v1beta1.MsgCreateVestingAccount").DESCRIPTOR
    assert types.message_traits(vesting).amino_name == "other-core/x/vestings/CreateVestingAccount"
    assert types.pool.FindFileByName("other/tax/v2/query.proto").package == "other.tax.v2"
    assert b"leasehold" not in types.descriptor_set()
    with pytest.raises(UnknownType):
        types.type("leasehold.tax.v2.Params")
