"""What a closed sub-protocol's contracts become: they swallow time alarms and answer nothing."""

from __future__ import annotations

from typing import Any

from leasehold.devnet.contracts.build import ProtocolBuild
from leasehold.devnet.contracts.native import Case, Native
from leasehold.devnet.wasm.contract import ContractTrap, Deps, Env, Response
from leasehold.protocol.messages.timealarms import Delivery
from leasehold.protocol.serde import Wire


class Void(Native):
    """An inert contract."""

    tag = "[Void]"
    instantiate_type = Wire
    execute_type = Delivery

    def __init__(self, build: ProtocolBuild) -> None:
        super().__init__(build.codec)

    def on_instantiate(self, case: Case, msg: Any) -> Response:
        raise ContractTrap("not implemented: Instantiation of a Void contract is not allowed!")

    def execute_time_alarm(self, case: Case, msg: Any) -> Response:
        return Response()

    def query(self, deps: Deps, env: Env, msg: bytes) -> bytes:
        raise ContractTrap("not implemented: No query is available on a Void contract!")
