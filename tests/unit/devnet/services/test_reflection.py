"""What the chain tells about its own types."""

from __future__ import annotations

from tests.unit.devnet.open_chain import shared_chain

V1BETA1 = "/cosmos.base.reflection.v1beta1.ReflectionService/"
V2ALPHA1 = "/cosmos.base.reflection.v2alpha1.ReflectionService/"


def test_interfaces_and_their_messages_are_listed() -> None:
    """Every message that can be sent implements the message interface."""
    chain = shared_chain()
    names = chain.call(V1BETA1 + "ListAllInterfaces").interface_names
    assert {"cosmos.base.v1beta1.Msg", "cosmos.crypto.PubKey"} <= set(names)
    listed = chain.call(V1BETA1 + "ListImplementations", interface_name="cosmos.base.v1beta1.Msg")
    assert "/cosmos.bank.v1beta1.MsgSend" in listed.implementation_message_names
    messages = {entry.msg_type_url for entry in chain.call(V2ALPHA1 + "GetTxDescriptor").tx.msgs}
    assert messages == set(listed.implementation_message_names)


def test_interfaces_nobody_registered_have_no_messages() -> None:
    """Neither a stranger's name nor one that only options of messages mention is an interface here."""
    chain = shared_chain()
    for name in ("foo.Bar", "cosmos.auth.v1beta1.ModuleAccountI"):
        assert not chain.call(V1BETA1 + "ListImplementations", interface_name=name).implementation_message_names
        described = chain.call(V2ALPHA1 + "GetCodecDescriptor").codec.interfaces
        assert name not in {entry.fullname for entry in described}


def test_the_descriptors_are_those_of_this_chain() -> None:
    """Prefix, chain id, sign modes, queries and files are its own."""
    chain = shared_chain()
    identity = chain.devnet.settings.identity
    assert chain.call(V2ALPHA1 + "GetConfigurationDescriptor").config.bech32_account_address_prefix == identity.prefix
    assert chain.call(V2ALPHA1 + "GetChainDescriptor").chain.id == chain.devnet.node.chain_id
    modes = {mode.name for mode in chain.call(V2ALPHA1 + "GetAuthnDescriptor").authn.sign_modes}
    assert {"SIGN_MODE_DIRECT", "SIGN_MODE_LEGACY_AMINO_JSON", "SIGN_MODE_EIP_191"} <= modes
    queries = chain.call(V2ALPHA1 + "GetQueryServicesDescriptor").queries.query_services
    unlisted = (V2ALPHA1, f"/{identity.namespace}.transfer.Query/")
    assert {method.full_query_path for service in queries for method in service.methods} == {
        path for path in chain.devnet.app.queries.handlers if not path.startswith(unlisted)
    }
    assert not any(service.is_module for service in queries)
    codec = chain.call(V2ALPHA1 + "GetCodecDescriptor").codec.interfaces
    assert any(entry.interface_implementers for entry in codec)
    files = chain.call("/cosmos.reflection.v1.ReflectionService/FileDescriptors").files
    assert "cosmos/bank/v1beta1/query.proto" in {file.name for file in files}
    assert not chain.call("/cosmos.autocli.v1.Query/AppOptions").module_options
