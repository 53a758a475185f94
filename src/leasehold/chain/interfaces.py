"""Which messages may stand behind which interface in a google.protobuf.Any, derived from services and options."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from leasehold.chain.json_encoding import is_map, message_type
from leasehold.chain.registry import MalformedMessage, Registry, UnknownType

MSG = "cosmos.base.v1beta1.Msg"
EXTENSION_OPTION = "cosmos.tx.v1beta1.TxExtensionOptionI"
MAXIMUM_DEPTH = 10
MAXIMUM_CALLS = 100

_VESTING_ACCOUNTS = tuple(
    f"cosmos.vesting.v1beta1.{name}"
    for name in (
        "ContinuousVestingAccount",
        "DelayedVestingAccount",
        "PeriodicVestingAccount",
        "PermanentLockedAccount",
    )
)
_ACCOUNTS = ("cosmos.auth.v1beta1.ModuleAccount", *_VESTING_ACCOUNTS)
_TENDERMINT = "ibc.lightclients.tendermint.v1"
_COMMITMENT = "ibc.core.commitment.v1"
# What a node registers in code rather than by an option.
_REGISTERED = {
    MSG: ("cosmwasm.wasm.v1.MsgIBCSend", "cosmwasm.wasm.v1.MsgIBCCloseChannel"),
    "cosmos.crypto.PubKey": tuple(
        f"cosmos.crypto.{name}" for name in ("ed25519.PubKey", "secp256k1.PubKey", "multisig.LegacyAminoPubKey")
    ),
    "cosmos.crypto.PrivKey": ("cosmos.crypto.ed25519.PrivKey", "cosmos.crypto.secp256k1.PrivKey"),
    "cosmos.auth.v1beta1.AccountI": _ACCOUNTS,
    "cosmos.auth.v1beta1.GenesisAccount": ("cosmos.auth.v1beta1.BaseAccount", *_ACCOUNTS),
    "cosmos.auth.v1.ModuleCredential": ("cosmos.auth.v1beta1.ModuleCredential",),
    "cosmos.vesting.v1beta1.VestingAccount": _VESTING_ACCOUNTS,
    "cosmos.evidence.v1beta1.Evidence": ("cosmos.evidence.v1beta1.Equivocation",),
    "cosmos.tx.v1beta1.Tx": ("cosmos.tx.v1beta1.Tx",),
    "ibc.core.client.v1.ClientState": (f"{_TENDERMINT}.ClientState",),
    "ibc.core.client.v1.ConsensusState": (f"{_TENDERMINT}.ConsensusState",),
    "ibc.core.client.v1.Header": (f"{_TENDERMINT}.Header",),
    "ibc.core.client.v1.Misbehaviour": (f"{_TENDERMINT}.Misbehaviour",),
    "ibc.core.client.v1.Height": ("ibc.core.client.v1.Height",),
    "ibc.core.channel.v1.PacketI": ("ibc.core.channel.v1.Packet",),
    "ibc.core.commitment.v1.Root": (f"{_COMMITMENT}.MerkleRoot",),
    "ibc.core.commitment.v1.Prefix": (f"{_COMMITMENT}.MerklePrefix",),
    "ibc.core.commitment.v1.Path": ("ibc.core.commitment.v2.MerklePath",),
    "cosmwasm.wasm.v1.ContractInfoExtension": (),
    EXTENSION_OPTION: (),
}
_GO_NAMES = {
    MSG: "types.Msg",
    "cosmos.crypto.PubKey": "types.PubKey",
    "cosmos.authz.v1beta1.Authorization": "authz.Authorization",
    "cosmos.feegrant.v1beta1.FeeAllowanceI": "feegrant.FeeAllowanceI",
    "cosmos.gov.v1beta1.Content": "v1beta1.Content",
    "cosmos.evidence.v1beta1.Evidence": "exported.Evidence",
    "ibc.core.client.v1.ClientState": "exported.ClientState",
    "ibc.core.client.v1.ConsensusState": "exported.ConsensusState",
    "ibc.core.client.v1.Header": "exported.ClientMessage",
    EXTENSION_OPTION: "tx.TxExtensionOptionI",
}
_ACCEPTED = {
    "cosmos.tx.v1beta1.TxBody.messages": MSG,
    "cosmos.tx.v1beta1.TxBody.extension_options": EXTENSION_OPTION,
    "cosmos.tx.v1beta1.TxBody.non_critical_extension_options": EXTENSION_OPTION,
    "cosmos.tx.v1beta1.SignerInfo.public_key": "cosmos.crypto.PubKey",
    "cosmos.crypto.multisig.LegacyAminoPubKey.public_keys": "cosmos.crypto.PubKey",
    "cosmos.gov.v1.MsgSubmitProposal.messages": MSG,
    "cosmos.gov.v1.MsgSubmitPropWValidation.messages": MSG,
    "ibc.core.client.v1.MsgCreateClient.client_state": "ibc.core.client.v1.ClientState",
    "ibc.core.client.v1.MsgCreateClient.consensus_state": "ibc.core.client.v1.ConsensusState",
}


class Interfaces:
    """Interfaces of one registry and the type URLs that implement them."""

    def __init__(self, types: Registry) -> None:
        self._types = types
        self._leading: dict[str, tuple[FieldDescriptor, ...]] = {}
        found: dict[str, dict[str, None]] = {name: {} for name in _REGISTERED}
        for interface, name in self._declared():
            found.setdefault(interface, {})["/" + name] = None
        self.implementations: dict[str, tuple[str, ...]] = {name: tuple(urls) for name, urls in found.items()}
        self.registered: frozenset[str] = frozenset(url for urls in found.values() for url in urls)

    def _declared(self) -> Iterator[tuple[str, str]]:
        for method in self._types.methods:
            if method.service.endswith(".Msg"):
                yield MSG, method.request_type.DESCRIPTOR.full_name
                yield "cosmos.tx.v1beta1.MsgResponse", method.response_type.DESCRIPTOR.full_name
        for file in self._types.files:
            for message in file.message_type:
                name = f"{file.package}.{message.name}"
                descriptor = cast(Descriptor, self._types.type(name).DESCRIPTOR)
                for interface in self._types.message_traits(descriptor).implements:
                    yield interface, name
        for interface, names in _REGISTERED.items():
            for name in names:
                yield interface, name

    def check(self, message: Message) -> None:
        """Refuses a message in which an Any holds something its interface does not allow."""
        self._check(message, 0, [0])

    def packed(self, message: Message) -> Iterator[tuple[FieldDescriptor, Any]]:
        """Every Any directly inside a message or its plain sub-messages, with the field that holds it."""
        for field in self._paths(cast(Descriptor, message.DESCRIPTOR)):
            value = getattr(message, field.name)
            if field.is_repeated:
                items = value
            elif message.HasField(field.name):
                items = (value,)
            else:
                continue
            for item in items:
                if message_type(field).full_name == "google.protobuf.Any":
                    yield field, item
                else:
                    yield from self.packed(item)

    def _paths(self, descriptor: Descriptor) -> tuple[FieldDescriptor, ...]:
        found = self._leading.get(descriptor.full_name)
        if found is None:
            fields = (field for field in descriptor.fields if field.message_type is not None and not is_map(field))
            found = tuple(field for field in fields if holds_any(message_type(field)))
            self._leading[descriptor.full_name] = found
        return found

    def _check(self, message: Message, depth: int, calls: list[int]) -> None:
        for field, packed in self.packed(message):
            self._check_any(field, packed, depth + 1, calls)

    def _check_any(self, field: FieldDescriptor, packed: Any, depth: int, calls: list[int]) -> None:
        calls[0] += 1
        if depth > MAXIMUM_DEPTH or calls[0] > MAXIMUM_CALLS:
            raise MalformedMessage(
                "call limit exceeded" if depth <= MAXIMUM_DEPTH else "max depth exceeded", field="tx"
            )
        interface = _ACCEPTED.get(field.full_name) or self._types.field_traits(field).accepts_interface
        if interface:
            self._allow(interface, packed.type_url)
        if packed.type_url:
            self._check(self._types.unpack(packed), depth, calls)

    def _allow(self, interface: str, type_url: str) -> None:
        urls = self.implementations.get(interface, ())
        name = _GO_NAMES.get(interface, interface)
        if not urls:
            raise UnknownType(f"no registered implementations of type {name}", field="type_url")
        if type_url and type_url not in urls:
            text = f"no concrete type registered for type URL {type_url} against interface *{name}"
            raise UnknownType(text, field="type_url")


def holds_any(descriptor: Descriptor) -> bool:
    """Whether an Any can stand anywhere inside a message of that type."""
    found = _HOLDS_ANY.get(descriptor.full_name)
    if found is None:
        found = _HOLDS_ANY[descriptor.full_name] = _leads_to_any(descriptor, set())
    return found


_HOLDS_ANY: dict[str, bool] = {}


def _leads_to_any(descriptor: Descriptor, seen: set[str]) -> bool:
    if descriptor.full_name == "google.protobuf.Any":
        return True
    if descriptor.full_name in seen:
        return False
    seen.add(descriptor.full_name)
    return any(
        _leads_to_any(message_type(field), seen) for field in descriptor.fields if field.message_type is not None
    )


@lru_cache(maxsize=8)
def interfaces(types: Registry) -> Interfaces:
    """The shared interfaces of a registry."""
    return Interfaces(types)
