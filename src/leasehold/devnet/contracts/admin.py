"""The registry of sub-protocols: creates their contracts, lists them, migrates them and lets them go.

Storage: `dex_admin`, `platform`, `protocol/<name>` and `expected`, the instantiation under way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from leasehold.core.addresses import predictable_contract_address
from leasehold.devnet.contracts.build import PlatformBuild
from leasehold.devnet.contracts.native import Case, Native, software_release
from leasehold.devnet.contracts.platform import (
    check_contract,
    check_platform_migration,
    check_sender,
    checked_address,
    storage_key_text,
)
from leasehold.devnet.wasm import replies
from leasehold.devnet.wasm.contract import (
    ContractError,
    Querier,
    Reply,
    ReplyOn,
    Response,
    SubMessage,
    WasmExecute,
    WasmInstantiate,
    WasmMigrate,
)
from leasehold.protocol.messages import admin as wire
from leasehold.protocol.messages.values import ExecuteSpec, MigrationSpec, ProtocolMigrations

VERSION = "0.6.2"
VOID_RELEASE = "void-release"

_DEX_ADMIN = b"dex_admin"
_PLATFORM = b"platform"
_PROTOCOL = b"protocol/"
_EXPECTED = b"expected"
_PARTS = ("leaser", "lpp", "oracle", "profit", "reserve")
_PLATFORM_PARTS = ("timealarms", "treasury")

T = TypeVar("T")
Parts = dict[str, Any] | None


class Migrations(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Migrations of the platform's contracts, and of each protocol's with the release it goes to."""

    platform: Parts
    protocol: dict[str, tuple[str, Parts]]


_protocol = msgspec.json.Decoder(wire.Protocol)
_platform = msgspec.json.Decoder(wire.Platform)


class Admin(Native):
    """The platform's registry."""

    tag = "[Admin]"
    instantiate_type = wire.Instantiate
    execute_type = wire.Execute
    sudo_type = wire.Sudo
    query_type = wire.Query

    def __init__(self, build: PlatformBuild) -> None:
        super().__init__(build.codec)
        self._release = software_release(build.release, "admin_contract", VERSION, 4)

    # -- messages ------------------------------------------------------------------------------------------------

    def on_instantiate(self, case: Case, msg: wire.Instantiate) -> Response:
        platform = msg.contracts.platform
        for address in (platform.timealarms, platform.treasury):
            check_contract(case.querier, address, self.tag)
        case.storage.set(_DEX_ADMIN, msg.dex_admin.encode())
        case.storage.set(_PLATFORM, msgspec.json.encode(platform))
        for name, protocol in sorted(msg.contracts.protocol.items()):
            self._register(case, name, protocol)
        return Response()

    def execute_instantiate(self, case: Case, msg: wire.InstantiateContract) -> Response:
        self._check_dex_admin(case)
        case.storage.set(_EXPECTED, msgspec.json.encode([int(msg.code_id), msg.expected_address]))
        message = WasmInstantiate(
            int(msg.code_id),
            msg.message.encode(),
            msg.label,
            admin=case.env.contract,
            funds=case.info.funds,
            salt=msg.protocol.encode(),
        )
        return Response([SubMessage(message, 0, ReplyOn.SUCCESS)])

    def on_reply(self, case: Case, reply: Reply) -> Response:
        code_id, expected = msgspec.json.decode(case.storage.get(_EXPECTED) or b'[0,""]')
        case.storage.delete(_EXPECTED)
        address, _ = replies.instantiated(reply)
        if address != expected:
            raise ContractError(
                f'{self.tag} Contract returned wrong address! Expected "{expected}", but got "{address}"!'
            )
        reported = case.querier.contract_info(address).code_id
        if reported != code_id:
            raise ContractError(
                f'{self.tag} Contract returned wrong code id! Expected "{code_id}", but got "{reported}"!'
            )
        return Response()

    def execute_register_protocol(self, case: Case, msg: wire.RegisterProtocol) -> Response:
        self._check_dex_admin(case)
        return self._register(case, msg.name, msg.protocol)

    def execute_deregister_protocol(self, case: Case, msg: ProtocolMigrations) -> Response:
        for name, protocol in self._protocols(case):
            if protocol.contracts.leaser == case.info.sender:
                case.storage.delete(_PROTOCOL + name.encode())
                target = {"software": VOID_RELEASE, "protocol": VOID_RELEASE}
                return _migrations(case.querier, protocol.contracts, msg, target)
        raise ContractError(f"{self.tag} Protocol deregistration message not sent by a registered protocol leaser!")

    # -- governance ----------------------------------------------------------------------------------------------

    def sudo_change_dex_admin(self, case: Case, msg: wire.ChangeDexAdmin) -> Response:
        case.storage.set(_DEX_ADMIN, checked_address(case.querier, msg.new_dex_admin, self.tag).encode())
        return Response()

    def sudo_register_protocol(self, case: Case, msg: wire.RegisterProtocol) -> Response:
        return self._register(case, msg.name, msg.protocol)

    def sudo_migrate_contracts(self, case: Case, msg: wire.MigrateContracts) -> Response:
        spec = msgspec.convert(msg.migration_spec, Migrations)
        response, after = Response(), Response()
        platform = msgspec.to_builtins(self._platform(case)) | {"admin": case.env.contract}
        for part, given in _given(spec.platform, ("admin", *_PLATFORM_PARTS), MigrationSpec):
            release = case.querier.smart(platform[part], b'{"platform_package_release":{}}')
            _migrate(platform[part], given, release, msg.to_release, response, after)
        for contracts, (release_id, parts) in self._paired(case, spec.protocol):
            target = {"software": msg.to_release, "protocol": release_id}
            for part, given in _given(parts, _PARTS, MigrationSpec):
                address = getattr(contracts, part)
                release = case.querier.smart(address, b'{"protocol_package_release":{}}')
                _migrate(address, given, release, target, response, after)
        response.messages += after.messages
        return response

    def sudo_execute_contracts(self, case: Case, msg: wire.ExecuteContracts) -> Response:
        response = Response()
        platform = msgspec.to_builtins(self._platform(case))
        for part, given in _given(msgspec.convert(msg.platform, Parts), _PLATFORM_PARTS, ExecuteSpec):
            response.send(WasmExecute(platform[part], msgspec.json.encode(given.message)))
        for contracts, parts in self._paired(case, msgspec.convert(msg.protocol, dict[str, Parts])):
            for part, given in _given(parts, _PARTS, ExecuteSpec):
                response.send(WasmExecute(getattr(contracts, part), msgspec.json.encode(given.message)))
        return response

    # -- queries -------------------------------------------------------------------------------------------------

    def query_instantiate_address(self, case: Case, msg: wire.InstantiateAddress) -> str:
        checksum = case.querier.code_checksum(int(msg.code_id))
        creator = case.querier.canonical(case.env.contract)
        return case.querier.human(predictable_contract_address(checksum, creator, msg.protocol.encode()))

    def query_protocols(self, case: Case, msg: Any) -> list[str]:
        return [name for name, _ in self._protocols(case)]

    def query_platform(self, case: Case, msg: Any) -> bytes:
        return case.storage.get(_PLATFORM) or b""

    def query_protocol(self, case: Case, msg: str) -> bytes:
        stored = case.storage.get(_PROTOCOL + msg.encode())
        if stored is None:
            kind = "admin_contract::contracts::protocol::Protocol<cosmwasm_std::addresses::Addr>"
            key = storage_key_text("protocol_contracts", msg.encode())
            raise ContractError(f"{self.tag} [Std] kind: Other, error: type: {kind}; key: {key} not found")
        return stored

    def on_migrate(self, case: Case, msg: bytes) -> Response:
        check_platform_migration(self.codec, self._release, msg)
        return Response()

    def query_platform_package_release(self, case: Case, msg: Any) -> Any:
        return self._release

    # -- state ---------------------------------------------------------------------------------------------------

    def _check_dex_admin(self, case: Case) -> None:
        check_sender(case, (case.storage.get(_DEX_ADMIN) or b"").decode(), self.tag)

    def _register(self, case: Case, name: str, protocol: wire.Protocol) -> Response:
        for part in _PARTS:
            check_contract(case.querier, getattr(protocol.contracts, part), self.tag)
        key = _PROTOCOL + name.encode()
        if case.storage.get(key) is not None:
            text = f"Protocol set of contracts already exists for this protocol name! Protocol's friendly name: {name}"
            raise ContractError(f"{self.tag} {text}")
        case.storage.set(key, msgspec.json.encode(protocol))
        return Response()

    def _platform(self, case: Case) -> wire.Platform:
        return _platform.decode(case.storage.get(_PLATFORM) or b"")

    def _protocols(self, case: Case) -> list[tuple[str, wire.Protocol]]:
        end = _PROTOCOL[:-1] + b"0"
        return [
            (key[len(_PROTOCOL) :].decode(), _protocol.decode(value))
            for key, value in case.storage.iterate(_PROTOCOL, end)
        ]

    def _paired(self, case: Case, specs: dict[str, Any]) -> Iterator[tuple[wire.ProtocolContracts, Any]]:
        """Every registered protocol with what was given for it; none may lack, none may be extra."""
        known = dict(self._protocols(case))
        for name, protocol in known.items():
            if name not in specs:
                text = "Protocol not mentioned under either migration messages, or post-migration execution messages!"
                raise ContractError(f"{self.tag} {text} Protocol's friendly name: {name}")
            yield protocol.contracts, specs[name]
        for name in sorted(specs.keys() - known.keys()):
            text = "No protocol set of contracts exists for this protocol name! Protocol's friendly name:"
            raise ContractError(f"{self.tag} {text} {name}")


def _given(specs: Parts, parts: tuple[str, ...], kind: type[T]) -> Iterator[tuple[str, T]]:
    """What was given for each part: all of them, `{"some":…}` of them, or nothing."""
    chosen: dict[str, Any] = msgspec.convert((specs or {}).get("some", specs), Parts) or {}
    for part in parts:
        if chosen.get(part) is not None:
            yield part, msgspec.convert(chosen[part], kind)


def _migrations(
    querier: Querier, contracts: wire.ProtocolContracts, specs: ProtocolMigrations, target: Any
) -> Response:
    response, after = Response(), Response()
    for part in _PARTS:
        address = getattr(contracts, part)
        release = querier.smart(address, b'{"protocol_package_release":{}}')
        _migrate(address, getattr(specs, part), release, target, response, after)
    response.messages += after.messages
    return response


def _migrate(
    address: str, spec: MigrationSpec, release: bytes, target: Any, response: Response, after: Response
) -> None:
    """Migrate from the release a contract says it is; its message to itself comes after all migrations."""
    message = {"migrate_from": msgspec.Raw(release), "to_release": target, "message": spec.migrate_message}
    response.send(WasmMigrate(address, int(spec.code_id), msgspec.json.encode(message)))
    if spec.post_migrate_execute is not None:
        after.send(WasmExecute(address, msgspec.json.encode(spec.post_migrate_execute.message)))
