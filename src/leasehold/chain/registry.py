"""The chain's protobuf types: one descriptor set in a private pool, under the namespace of an identity profile.

The private pool keeps other libraries' definitions of the same names apart. Option extensions stay unknown bytes on
descriptors of such a pool, so options are parsed again with the pool's own classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, cast

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message

from leasehold.chain.wire_faults import wire_fault
from leasehold.core.errors import InvalidInput

DESCRIPTORS = Path(__file__).parent / "descriptors.binpb"
DEFAULT_NAMESPACE = "leasehold"
_NAMESPACED = re.compile(r"^([./]?)leasehold(?=[./-])")
MessageType = type[Message]
_VERBS = ("get", "put", "post", "delete", "patch")


class UnknownType(InvalidInput):
    """A type URL or name that no definition answers to."""


class MalformedMessage(InvalidInput):
    """Bytes that are not an encoding of the message they should be."""


class AnyMessage(Protocol):
    """What a packed message looks like, whichever pool its class comes from."""

    type_url: str
    value: bytes


@dataclass(frozen=True, slots=True)
class HttpRule:
    """One LCD binding of a method: upper-case verb, path template, and the body selector (`*`, a field or empty)."""

    verb: str
    template: str
    body: str


@dataclass(frozen=True, slots=True)
class Method:
    """One method of one service, with its message classes and LCD bindings."""

    service: str
    name: str
    request_type: MessageType
    response_type: MessageType
    http: tuple[HttpRule, ...]
    client_streaming: bool
    server_streaming: bool

    @property
    def path(self) -> str:
        return f"/{self.service}/{self.name}"

    def decoded(self, data: bytes) -> Any:
        """The request that bytes encode; MalformedMessage says what is wrong with them."""
        fault = wire_fault(self.request_type.DESCRIPTOR, data) if data else None
        if fault is None:
            try:
                return self.request_type.FromString(data)
            except DecodeError:
                fault = "string field contains invalid UTF-8"
        raise MalformedMessage(fault)


@dataclass(frozen=True, slots=True)
class FieldTraits:
    """What the options of a field say about its Go type, its JSON and its amino form."""

    nullable: bool
    customtype: str
    casttype: str
    scalar: str
    accepts_interface: str
    amino_encoding: str
    amino_name: str
    amino_keep_empty: bool
    amino_oneof_name: str


@dataclass(frozen=True, slots=True)
class MessageTraits:
    """What the options of a message say: its amino name and form, the fields holding its signers, its interfaces."""

    amino_name: str
    amino_encoding: str
    signers: tuple[str, ...]
    implements: tuple[str, ...]


class Registry:
    """Every message, service and option of the chain, its own modules named after `namespace`."""

    def __init__(self, namespace: str = DEFAULT_NAMESPACE) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9]*", namespace):
            raise InvalidInput("a namespace is a lower-case word", field="namespace")
        self.namespace = namespace
        self.files = _files(namespace)
        self.pool = descriptor_pool.DescriptorPool()
        for file in self.files:
            self.pool.AddSerializedFile(file.SerializeToString())
        self.service_names: tuple[str, ...] = tuple(
            f"{file.package}.{service.name}" for file in self.files for service in file.service
        )
        self._classes: dict[str, MessageType] = {}
        self._field_traits: dict[str, FieldTraits] = {}
        self._message_traits: dict[str, MessageTraits] = {}
        self._any = self.type("google.protobuf.Any")
        self.methods: tuple[Method, ...] = tuple(self._all_methods())
        self.method_by_path: dict[str, Method] = {method.path: method for method in self.methods}

    def name(self, own: str) -> str:
        """Full name of one of the chain's own definitions, e.g. `tax.v2.Params`."""
        return f"{self.namespace}.{own}"

    def type(self, full_name: str) -> MessageType:
        """Class of a message by its full name."""
        found = self._classes.get(full_name)
        if found is None:
            try:
                descriptor = self.pool.FindMessageTypeByName(full_name)
            except KeyError:
                raise UnknownType(f"no message is named {full_name}", field="type") from None
            found = self._classes[full_name] = message_factory.GetMessageClass(descriptor)
        return found

    def new(self, full_name: str, **fields: Any) -> Any:
        """A message of that type with the given fields; typed loosely because the class exists only at run time."""
        return self.type(full_name)(**fields)

    def resolve(self, type_url: str) -> MessageType:
        """Class behind a type URL such as `/cosmos.bank.v1beta1.MsgSend`."""
        try:
            return self.type(type_url.rpartition("/")[2])
        except UnknownType:
            raise UnknownType(f"unable to resolve type URL {type_url}", field="type_url") from None

    def pack(self, message: Message) -> Any:
        """The message inside a google.protobuf.Any, encoded with map keys in order."""
        value = message.SerializeToString(deterministic=True)
        return cast(Any, self._any)(type_url="/" + message.DESCRIPTOR.full_name, value=value)

    def unpack(self, packed: AnyMessage | Message) -> Any:
        """The message inside a google.protobuf.Any."""
        packed = cast(AnyMessage, packed)
        return self.parse(self.resolve(packed.type_url), packed.value)

    def parse(self, kind: MessageType | str, data: bytes) -> Any:
        """A message of that class (or full name) from its bytes; unknown fields are kept."""
        cls = self.type(kind) if isinstance(kind, str) else kind
        try:
            return cls.FromString(data)
        except DecodeError as error:
            raise MalformedMessage(f"not a {cls.DESCRIPTOR.full_name}: {error}", field="value") from None

    def signers(self, message: Message) -> list[str]:
        """Addresses that must sign a message, as written in it, in order and without repetition."""
        return list(dict.fromkeys(self._signers(message)))

    def field_traits(self, field: FieldDescriptor) -> FieldTraits:
        """Options of a field."""
        found = self._field_traits.get(field.full_name)
        if found is None:
            found = self._field_traits[field.full_name] = self._read_field(field)
        return found

    def message_traits(self, message: Descriptor) -> MessageTraits:
        """Options of a message."""
        found = self._message_traits.get(message.full_name)
        if found is None:
            found = self._message_traits[message.full_name] = self._read_message(message)
        return found

    def descriptor_set(self) -> bytes:
        """Serialized FileDescriptorSet of everything here, dependencies first."""
        return descriptor_pb2.FileDescriptorSet(file=self.files).SerializeToString()

    def _signers(self, message: Message) -> Iterator[str]:
        for name in self.message_traits(cast(Descriptor, message.DESCRIPTOR)).signers:
            value = getattr(message, name)
            items = [value] if isinstance(value, (str, Message)) else value
            for item in items:
                if isinstance(item, Message):
                    yield from self._signers(item)
                else:
                    yield item

    def _all_methods(self) -> Iterator[Method]:
        options: Any = self.type("google.protobuf.MethodOptions")
        http = self.pool.FindExtensionByName("google.api.http")
        for service_name in self.service_names:
            service: ServiceDescriptor = self.pool.FindServiceByName(service_name)
            for method in service.methods:
                rule = options.FromString(method.GetOptions().SerializeToString()).Extensions[http]
                yield self._method(service_name, method, tuple(_bindings(rule)))

    def _method(self, service: str, method: MethodDescriptor, http: tuple[HttpRule, ...]) -> Method:
        return Method(
            service=service,
            name=method.name,
            request_type=self.type(method.input_type.full_name),
            response_type=self.type(method.output_type.full_name),
            http=http,
            client_streaming=method.client_streaming,
            server_streaming=method.server_streaming,
        )

    def _read_field(self, field: FieldDescriptor) -> FieldTraits:
        options: Any = self.type("google.protobuf.FieldOptions").FromString(field.GetOptions().SerializeToString())

        def option(name: str) -> Any:
            return options.Extensions[self.pool.FindExtensionByName(name)]

        nullable = self.pool.FindExtensionByName("gogoproto.nullable")
        return FieldTraits(
            nullable=not options.HasExtension(nullable) or options.Extensions[nullable],
            customtype=option("gogoproto.customtype").rpartition(".")[2],
            casttype=option("gogoproto.casttype"),
            scalar=option("cosmos_proto.scalar"),
            accepts_interface=option("cosmos_proto.accepts_interface"),
            amino_encoding=option("amino.encoding"),
            amino_name=option("amino.field_name"),
            amino_keep_empty=option("amino.dont_omitempty"),
            amino_oneof_name=option("amino.oneof_name"),
        )

    def _read_message(self, message: Descriptor) -> MessageTraits:
        options: Any = self.type("google.protobuf.MessageOptions").FromString(message.GetOptions().SerializeToString())

        def option(name: str) -> Any:
            return options.Extensions[self.pool.FindExtensionByName(name)]

        return MessageTraits(
            amino_name=option("amino.name"),
            amino_encoding=option("amino.message_encoding"),
            signers=tuple(option("cosmos.msg.v1.signer")),
            implements=tuple(option("cosmos_proto.implements_interface")),
        )


@lru_cache(maxsize=8)
def registry(namespace: str = DEFAULT_NAMESPACE) -> Registry:
    """The shared registry of a namespace."""
    return Registry(namespace)


def _bindings(rule: Any) -> Iterator[HttpRule]:
    verb = rule.WhichOneof("pattern")
    if verb in _VERBS:
        yield HttpRule(verb.upper(), getattr(rule, verb), rule.body)
    for additional in rule.additional_bindings:
        yield from _bindings(additional)


def _files(namespace: str) -> tuple[descriptor_pb2.FileDescriptorProto, ...]:
    data = DESCRIPTORS.read_bytes()
    files = tuple(descriptor_pb2.FileDescriptorSet.FromString(data).file)
    if namespace == DEFAULT_NAMESPACE:
        return files
    # Options are extensions, visible only to classes of a pool that knows them: rename with such a class.
    pool = descriptor_pool.DescriptorPool()
    for file in files:
        if file.name.startswith(("google/", "amino/")):
            pool.AddSerializedFile(file.SerializeToString())
    knowing = message_factory.GetMessageClass(pool.FindMessageTypeByName("google.protobuf.FileDescriptorProto"))
    return tuple(_renamed(file, knowing, namespace) if file.name.startswith("leasehold/") else file for file in files)


def _renamed(
    file: descriptor_pb2.FileDescriptorProto, knowing: MessageType, namespace: str
) -> descriptor_pb2.FileDescriptorProto:
    copy = knowing.FromString(file.SerializeToString())
    _rename(copy, namespace)
    return descriptor_pb2.FileDescriptorProto.FromString(copy.SerializeToString())


def _rename(message: Message, namespace: str) -> None:
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for item in value if field.is_repeated else [value]:
                _rename(item, namespace)
        elif field.type == FieldDescriptor.TYPE_STRING:
            if field.is_repeated:
                value[:] = [_NAMESPACED.sub(rf"\g<1>{namespace}", text) for text in value]
            elif _NAMESPACED.match(value):
                renamed = _NAMESPACED.sub(rf"\g<1>{namespace}", value)
                if field.is_extension:
                    cast(Any, message).Extensions[field] = renamed
                else:
                    setattr(message, field.name, renamed)
