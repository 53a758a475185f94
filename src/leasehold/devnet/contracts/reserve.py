"""The reserve, which covers what a sale of a whole position lacks to its debt.

Storage: `admin` (the leaser) and `lease_code`.
"""

from __future__ import annotations

from typing import Any

from leasehold.devnet.contracts.build import ProtocolBuild
from leasehold.devnet.contracts.native import Case, Native
from leasehold.devnet.contracts.platform import check_code, check_sender, checked_address, checked_code
from leasehold.devnet.contracts.release import check_migration, protocol_release
from leasehold.devnet.wasm.contract import BankCoin, BankSend, Event, Response
from leasehold.protocol import events
from leasehold.protocol.errors import Refused
from leasehold.protocol.messages import reserve as wire
from leasehold.protocol.messages.values import LpnCoin

NAME, VERSION, STORAGE_VERSION = "reserve", "0.2.2", 0

_ADMIN, _LEASE_CODE = b"admin", b"lease_code"


class Reserve(Native):
    """A sub-protocol's reserve."""

    tag = "[Reserve]"
    instantiate_type = wire.Instantiate
    execute_type = wire.Execute
    query_type = wire.Query

    def __init__(self, build: ProtocolBuild) -> None:
        super().__init__(build.codec)
        self._lpn = build.currencies.lpn
        self._release = protocol_release(build, NAME, VERSION, STORAGE_VERSION)

    def on_instantiate(self, case: Case, msg: wire.Instantiate) -> Response:
        case.storage.set(_ADMIN, checked_address(case.querier, msg.protocol_admin, self.tag).encode())
        code = checked_code(case.querier, int(msg.lease_code), self.tag)
        case.storage.set(_LEASE_CODE, str(code).encode())
        return Response()

    def on_migrate(self, case: Case, msg: bytes) -> Response:
        check_migration(self.codec, self._release, msg)
        return Response()

    def execute_new_lease_code(self, case: Case, msg: int) -> Response:
        self._check_admin(case)
        case.storage.set(_LEASE_CODE, str(msg).encode())
        return Response()

    def execute_cover_liquidation_losses(self, case: Case, msg: LpnCoin) -> Response:
        lease, amount = case.info.sender, msg.units
        check_code(case.querier, lease, int(case.storage.get(_LEASE_CODE) or b"0"), self.tag)
        if self._balance(case) < amount:
            raise Refused("Insufficient balance")
        event = events.CoverLoss(to=lease, payment_amount=amount, payment_symbol=self._lpn.ticker)
        response = Response(events=[Event(event.type, event.attributes())])
        response.send(self._paying(lease, amount))
        return response

    def execute_dump_balance_to(self, case: Case, msg: str) -> Response:
        self._check_admin(case)
        response = Response()
        balance = self._balance(case)
        if balance:
            response.send(self._paying(msg, balance))
        return response

    def query_reserve_lpn(self, case: Case, msg: Any) -> str:
        return self._lpn.ticker

    def query_config(self, case: Case, msg: Any) -> wire.Config:
        return wire.Config((case.storage.get(_LEASE_CODE) or b"").decode())

    def query_protocol_package_release(self, case: Case, msg: Any) -> Any:
        return self._release

    def _check_admin(self, case: Case) -> None:
        check_sender(case, (case.storage.get(_ADMIN) or b"").decode(), self.tag)

    def _balance(self, case: Case) -> int:
        return case.querier.balance(case.env.contract, self._lpn.bank_symbol)

    def _paying(self, to: str, amount: int) -> BankSend:
        return BankSend(to, (BankCoin(self._lpn.bank_symbol, amount),))
