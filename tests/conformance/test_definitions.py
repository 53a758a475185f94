"""Our own protobuf definitions, message by message, against those that cosmpy was generated from."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2
from tests.conformance.conftest import PATIENCE

from leasehold.chain.registry import DESCRIPTORS

pytestmark = pytest.mark.conformance

COLLECTOR = Path(__file__).parent / "python" / "definitions.py"
Facts = dict[str, dict[str, tuple[object, ...]]]

# Where the two differ because they follow different releases: definition, member, and why ours is as it is.
DRIFT = {
    ("cosmwasm.wasm.v1.ContractInfo", "extension"): "wasmd 0.61 has 7; cosmpy has a renumbered draft",
    (
        "cosmwasm.wasm.v1.ContractInfo",
        "ibc2_port_id",
    ): "wasmd 0.61 has 8; cosmpy has a renumbered draft",
    ("cosmos.gov.v1.Msg", "SubmitPropWValidation"): "the public chain's fork adds it to the SDK's service",
}


@dataclass
class Definitions:
    """What a descriptor set says of each message, enum and service, by full name and then by member."""

    messages: Facts = field(default_factory=dict)
    enums: Facts = field(default_factory=dict)
    services: Facts = field(default_factory=dict)

    @classmethod
    def of(cls, data: bytes) -> Definitions:
        """All definitions of a serialized descriptor set."""
        found = cls()
        for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
            for message in file.message_type:
                found._add(f"{file.package}.{message.name}", message)
            for enum in file.enum_type:
                found.enums[f"{file.package}.{enum.name}"] = {value.name: (value.number,) for value in enum.value}
            for service in file.service:
                found.services[f"{file.package}.{service.name}"] = {
                    method.name: (
                        method.input_type,
                        method.output_type,
                        method.client_streaming,
                        method.server_streaming,
                    )
                    for method in service.method
                }
        return found

    def _add(self, name: str, message: descriptor_pb2.DescriptorProto) -> None:
        self.messages[name] = {
            member.name: (
                member.number,
                descriptor_pb2.FieldDescriptorProto.Type.Name(member.type),
                descriptor_pb2.FieldDescriptorProto.Label.Name(member.label),
                member.type_name,
                member.proto3_optional,
                message.oneof_decl[member.oneof_index].name if member.HasField("oneof_index") else None,
            )
            for member in message.field
        }
        for enum in message.enum_type:
            self.enums[f"{name}.{enum.name}"] = {value.name: (value.number,) for value in enum.value}
        for nested in message.nested_type:
            self._add(f"{name}.{nested.name}", nested)


def differences(ours: Facts, theirs: Facts) -> Iterator[tuple[str, str, object, object]]:
    """Each member of a definition both sides have, that one lacks or states otherwise."""
    for name in sorted(set(ours) & set(theirs)):
        for member in sorted(set(ours[name]) | set(theirs[name])):
            mine, other = ours[name].get(member), theirs[name].get(member)
            if mine != other:
                yield name, member, mine, other


@pytest.fixture(scope="module")
def theirs(cosmpy_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Definitions:
    target = tmp_path_factory.mktemp("definitions") / "cosmpy.binpb"
    subprocess.run([cosmpy_python, COLLECTOR, target], env=dict(os.environ), check=True, timeout=PATIENCE)
    return Definitions.of(target.read_bytes())


def test_every_shared_definition_is_the_same(theirs: Definitions) -> None:
    """Names, numbers, types, labels and oneofs agree for all that both have, but for the listed drift of releases."""
    ours = Definitions.of(DESCRIPTORS.read_bytes())
    found = [
        difference
        for kind in ("messages", "enums", "services")
        for difference in differences(getattr(ours, kind), getattr(theirs, kind))
    ]
    assert [difference for difference in found if difference[:2] not in DRIFT] == []
    assert {difference[:2] for difference in found} == set(DRIFT), "a listed difference is gone: strike it"
    # So that a renamed package or an empty set can't pass unseen.
    assert len(set(ours.messages) & set(theirs.messages)) > 900
    assert len(set(ours.services) & set(theirs.services)) > 50


def test_a_wrong_number_type_or_name_is_told() -> None:
    """The comparison itself sees a changed field number, a changed type, a renamed field and a changed enum value."""
    file = descriptor_pb2.FileDescriptorSet.FromString(DESCRIPTORS.read_bytes())
    coin = next(m for f in file.file if f.package == "cosmos.base.v1beta1" for m in f.message_type if m.name == "Coin")
    status = next(
        e for f in file.file if f.package == "cosmos.staking.v1beta1" for e in f.enum_type if e.name == "BondStatus"
    )
    coin.field[0].number = 9
    coin.field[1].name = "sum"
    status.value[1].number = 7
    changed, ours = Definitions.of(file.SerializeToString()), Definitions.of(DESCRIPTORS.read_bytes())
    told = {difference[:2] for difference in differences(ours.messages, changed.messages)}
    assert told == {
        ("cosmos.base.v1beta1.Coin", "amount"),
        ("cosmos.base.v1beta1.Coin", "denom"),
        ("cosmos.base.v1beta1.Coin", "sum"),
    }
    assert [difference[1] for difference in differences(ours.enums, changed.enums)] == ["BOND_STATUS_UNBONDED"]
