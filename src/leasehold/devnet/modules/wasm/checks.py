"""What is wrong with a message of the wasm module, whatever the state."""

from __future__ import annotations

from typing import Any

from leasehold.devnet.app.coins import Coins, coins_text, from_proto, valid
from leasehold.devnet.app.errors import INVALID_COINS, INVALID_REQUEST, ChainError, PlainError, undefined
from leasehold.devnet.app.module import validates
from leasehold.devnet.modules.wasm.codes import PACKAGE, Codes
from leasehold.devnet.modules.wasm.errors import EMPTY, INVALID, LIMIT
from leasehold.devnet.modules.wasm.payloads import MAX_BYTECODE, is_json

_MAX_LABEL = 128
_MAX_SALT = 64


class Checks(Codes):
    """Stateless checks."""

    def _address(self, text: str, what: str) -> None:
        try:
            self.modules.auth.address_bytes(text)
        except PlainError as error:
            raise undefined(f"{what}: {error}") from None

    def _payload(self, data: bytes) -> None:
        if not is_json(data):
            raise INVALID("payload msg")

    def _funds(self, coins: Coins) -> None:
        if not valid(coins):
            raise INVALID_COINS(coins_text(coins)) if coins else ChainError(INVALID_COINS)

    def _label(self, label: str) -> None:
        if not label:
            raise EMPTY("label: is required")
        if len(label) > _MAX_LABEL:
            raise LIMIT(f"label: cannot be longer than {_MAX_LABEL} characters")
        if label.strip() != label:
            raise INVALID("label: must not start/end with whitespaces")

    @validates(PACKAGE + "MsgStoreCode")
    def validate_store_code(self, msg: Any) -> None:
        self._address(msg.sender, "sender")
        self._bytecode(msg.wasm_byte_code)

    def _bytecode(self, data: bytes) -> None:
        if not data:
            raise EMPTY("code bytes")
        if len(data) > MAX_BYTECODE:
            raise LIMIT(f"code bytes cannot be longer than {MAX_BYTECODE} bytes")

    @validates(PACKAGE + "MsgInstantiateContract")
    def validate_instantiate(self, msg: Any) -> None:
        self._address(msg.sender, "sender")
        if msg.code_id == 0:
            raise INVALID_REQUEST("code id is required")
        self._label(msg.label)
        if msg.funds:
            self._funds(from_proto(msg.funds))
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
        if msg.funds:
            self._funds(from_proto(msg.funds))
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
        if msg.sender == msg.new_admin:
            raise INVALID_REQUEST("new admin is the same as the old")

    @validates(PACKAGE + "MsgClearAdmin")
    def validate_clear_admin(self, msg: Any) -> None:
        self._address(msg.sender, "sender")
        self._address(msg.contract, "contract")

    @validates(PACKAGE + "MsgUpdateContractLabel")
    def validate_update_label(self, msg: Any) -> None:
        self._address(msg.sender, "sender")
        self._label(msg.new_label)
        self._address(msg.contract, "contract")
