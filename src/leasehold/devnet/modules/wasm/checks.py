"""What is wrong with a message of the wasm module, whatever the state."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from leasehold.devnet.app.coins import fault, from_proto
from leasehold.devnet.app.errors import INVALID_REQUEST, PlainError, undefined
from leasehold.devnet.app.module import validates
from leasehold.devnet.modules.wasm.codes import ANY_OF, EVERYBODY, NOBODY, PACKAGE, Codes
from leasehold.devnet.modules.wasm.errors import DUPLICATE, EMPTY, INVALID, LIMIT
from leasehold.devnet.modules.wasm.payloads import MAX_BYTECODE, is_json

_MAX_LABEL = 128
_MAX_SALT = 64
_MAX_ADDRESSES = 50
_MAX_CODES = 50


class Checks(Codes):
    """Stateless checks."""

    def _address(self, text: str, what: str) -> None:
        try:
            self.modules.auth.plain_address_bytes(text)
        except PlainError as error:
            raise undefined(f"{what}: {error}") from None

    def _payload(self, data: bytes) -> None:
        if not is_json(data):
            raise INVALID("payload msg")

    def _funds(self, coins: Any) -> None:
        if (problem := fault(from_proto(coins))) is not None:
            raise undefined(f"funds: {problem}")

    def _label(self, label: str) -> None:
        if not label:
            raise EMPTY("label: is required")
        if len(label.encode()) > _MAX_LABEL:
            raise LIMIT(f"label: cannot be longer than {_MAX_LABEL} characters")
        if label.strip() != label:
            raise INVALID("label: label must not start/end with whitespaces")
        if not all(character.isprintable() for character in label):
            raise INVALID("label: label must have printable characters only")

    @validates(PACKAGE + "MsgStoreCode")
    def validate_store_code(self, msg: Any) -> None:
        try:
            self.modules.auth.plain_address_bytes(msg.sender)
        except PlainError as error:
            # Of all messages this one does not say whose address it is.
            raise undefined(str(error)) from None
        self._code(msg)

    def _code(self, msg: Any) -> None:
        """The bytecode of a message and who it lets use it."""
        if not msg.wasm_byte_code:
            raise INVALID_REQUEST(f"code bytes is required: {EMPTY.description}")
        if len(msg.wasm_byte_code) > MAX_BYTECODE:
            raise INVALID_REQUEST(f"code bytes cannot be longer than {MAX_BYTECODE} bytes: {LIMIT.description}")
        if msg.HasField("instantiate_permission"):
            self.check_permission(msg.instantiate_permission, "instantiate permission: ")

    def check_permission(self, access: Any, what: str = "") -> None:
        """Refuse an access that makes no sense; `what` says in front of the reason whose it is."""
        if access.permission == 0:
            raise EMPTY(f"{what}type")
        if access.permission not in (NOBODY, EVERYBODY, ANY_OF):
            raise INVALID(f'{what}unknown type: "Unspecified"')
        if access.permission == ANY_OF:
            self._addresses(access.addresses, f"{what}addresses: ")

    def _addresses(self, addresses: Any, what: str = "") -> None:
        if not addresses:
            raise EMPTY(f"{what}addresses")
        if len(addresses) > _MAX_ADDRESSES:
            raise INVALID_REQUEST(f"{what}total number of addresses is greater than {_MAX_ADDRESSES}")
        seen = set()
        for address in addresses:
            self._address(address, f"{what}address: {address}")
            if address.upper() in seen:
                raise DUPLICATE(f"{what}duplicate addresses")
            seen.add(address.upper())

    @validates(PACKAGE + "MsgInstantiateContract")
    def validate_instantiate(self, msg: Any) -> None:
        self._address(msg.sender, "sender")
        if msg.code_id == 0:
            raise INVALID_REQUEST("code id is required")
        self._label(msg.label)
        self._funds(msg.funds)
        if msg.admin:
            self._address(msg.admin, "admin")
        self._payload(msg.msg)

    @validates(PACKAGE + "MsgInstantiateContract2")
    def validate_instantiate2(self, msg: Any) -> None:
        self.validate_instantiate(msg)
        if not msg.salt:
            raise EMPTY("salt: is required")
        if len(msg.salt) > _MAX_SALT:
            raise LIMIT(f"salt: cannot be longer than {_MAX_SALT} characters")

    @validates(PACKAGE + "MsgExecuteContract")
    def validate_execute(self, msg: Any) -> None:
        self._address(msg.sender, "sender")
        self._address(msg.contract, "contract")
        self._funds(msg.funds)
        self._payload(msg.msg)

    @validates(PACKAGE + "MsgMigrateContract")
    def validate_migrate(self, msg: Any) -> None:
        if msg.code_id == 0:
            raise INVALID_REQUEST("code id is required")
        self._address(msg.sender, "sender")
        self._address(msg.contract, "contract")
        self._payload(msg.msg)

    @validates(PACKAGE + "MsgUpdateAdmin")
    def validate_update_admin(self, msg: Any) -> None:
        self._address(msg.sender, "sender")
        self._address(msg.contract, "contract")
        self._address(msg.new_admin, "new admin")
        if msg.sender.lower() == msg.new_admin.lower():
            raise INVALID("new admin is the same as the old")

    @validates(PACKAGE + "MsgClearAdmin")
    def validate_clear_admin(self, msg: Any) -> None:
        self._address(msg.sender, "sender")
        self._address(msg.contract, "contract")

    @validates(PACKAGE + "MsgUpdateContractLabel")
    def validate_update_label(self, msg: Any) -> None:
        self._address(msg.sender, "sender")
        self._label(msg.new_label)
        self._address(msg.contract, "contract")

    @validates(PACKAGE + "MsgUpdateInstantiateConfig")
    def validate_update_access(self, msg: Any) -> None:
        self._address(msg.sender, "sender")
        if msg.code_id == 0:
            raise INVALID_REQUEST("code id is required")
        if not msg.HasField("new_instantiate_permission"):
            raise INVALID_REQUEST("instantiate permission is required")
        self.check_permission(msg.new_instantiate_permission, "instantiate permission: ")

    # Messages of the governance.

    @validates(PACKAGE + "MsgUpdateParams")
    def validate_update_params(self, msg: Any) -> None:
        self._address(msg.authority, "authority")
        if msg.params.instantiate_default_permission == 0:
            raise EMPTY("instantiate default permission: type")
        self.check_permission(msg.params.code_upload_access, "upload access: ")

    @validates(PACKAGE + "MsgPinCodes")
    def validate_pin(self, msg: Any) -> None:
        self._address(msg.authority, "authority")
        if not msg.code_ids:
            raise INVALID_REQUEST("empty code ids")
        if len(msg.code_ids) > _MAX_CODES:
            raise INVALID_REQUEST(f"total number of code ids is greater than {_MAX_CODES}")
        if len(set(msg.code_ids)) != len(msg.code_ids):
            raise INVALID_REQUEST("duplicate code ids")

    @validates(PACKAGE + "MsgUnpinCodes")
    def validate_unpin(self, msg: Any) -> None:
        self.validate_pin(msg)

    @validates(PACKAGE + "MsgSudoContract")
    def validate_sudo(self, msg: Any) -> None:
        self._address(msg.authority, "authority")
        self._address(msg.contract, "contract")
        self._payload(msg.msg)

    @validates(PACKAGE + "MsgStoreAndInstantiateContract")
    def validate_store_and_instantiate(self, msg: Any) -> None:
        self._address(msg.authority, "authority")
        self._label(msg.label)
        self._funds(msg.funds)
        if msg.admin:
            self._address(msg.admin, "admin")
        self._verification(msg)
        self._payload(msg.msg)
        self._code(msg)

    def _verification(self, msg: Any) -> None:
        """Where code comes from is told whole or not at all."""
        if not (msg.source or msg.builder or msg.code_hash):
            return
        for name, value in (("source", msg.source), ("builder", msg.builder)):
            if not value:
                raise undefined(f"code verification info: {name} is required")
        if not urlsplit(msg.source).scheme and not msg.source.startswith("/"):
            problem = f"parse {json.dumps(msg.source)}: invalid URI for request"
            raise undefined(f"code verification info: source: {problem}")

    @validates(PACKAGE + "MsgStoreAndMigrateContract")
    def validate_store_and_migrate(self, msg: Any) -> None:
        self._address(msg.authority, "authority")
        self._address(msg.contract, "contract")
        self._payload(msg.msg)
        self._code(msg)

    @validates(PACKAGE + "MsgAddCodeUploadParamsAddresses")
    def validate_add_uploaders(self, msg: Any) -> None:
        self._address(msg.authority, "authority")
        self._addresses(msg.addresses)

    @validates(PACKAGE + "MsgRemoveCodeUploadParamsAddresses")
    def validate_remove_uploaders(self, msg: Any) -> None:
        self.validate_add_uploaders(msg)
