"""The leaser: opens leases, quotes, configures and migrates them, and closes its sub-protocol.

Storage: `config`, `owner`, `pending` (the customer whose lease is being created) and `leases/<customer>`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from leasehold.devnet.contracts.build import ProtocolBuild
from leasehold.devnet.contracts.native import Case, Native
from leasehold.devnet.contracts.platform import INVALID_ADDRESS, UNAUTHORIZED, check_code, check_contract, checked_code
from leasehold.devnet.contracts.price_source import PriceSource
from leasehold.devnet.contracts.release import Migration, check_migration, protocol_release
from leasehold.devnet.wasm.contract import (
    ContractError,
    Event,
    Reply,
    ReplyOn,
    Response,
    Storage,
    SubMessage,
    WasmExecute,
    WasmInstantiate,
    WasmMigrate,
)
from leasehold.devnet.wasm.replies import instantiated
from leasehold.protocol import events
from leasehold.protocol.errors import Refused
from leasehold.protocol.messages import lease as lease_wire
from leasehold.protocol.messages import leaser as wire
from leasehold.protocol.messages import lpp as lpp_wire
from leasehold.protocol.messages.values import LeaseCoin, LpnCoin, MaxSlippages, PackageRelease, ReleaseId
from leasehold.protocol.price import Price, total
from leasehold.protocol.serde import Empty, encode

NAME, VERSION, STORAGE_VERSION = "leaser", "0.12.1", 6

_CONFIG, _OWNER, _PENDING = b"config", b"owner", b"pending"
_LEASES, _LEASES_END = b"leases/", b"leases0"
_DECODE_CONFIG = msgspec.json.Decoder(wire.Config).decode
_DECODE_LEASES = msgspec.json.Decoder(list[str]).decode
_DECODE_QUOTE: Callable[[bytes], str | lpp_wire.QuoteAnswer] = msgspec.json.Decoder(str | lpp_wire.QuoteAnswer).decode
_DECODE_RELEASE = msgspec.json.Decoder(PackageRelease).decode


class Leases:
    """Leases by customer, in order of opening."""

    __slots__ = ("_storage",)

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def of(self, customer: str) -> list[str]:
        return _DECODE_LEASES(self._storage.get(_LEASES + customer.encode()) or b"[]")

    def add(self, customer: str, lease: str) -> None:
        self._storage.set(_LEASES + customer.encode(), encode([*self.of(customer), lease]))

    def remove(self, customer: str, lease: str) -> None:
        left = [other for other in self.of(customer) if other != lease]
        if left:
            self._storage.set(_LEASES + customer.encode(), encode(left))
        else:
            self._storage.delete(_LEASES + customer.encode())

    def customers(self, start: str = "") -> list[tuple[str, list[str]]]:
        """Customers in order of address from one on, with their leases."""
        found = self._storage.iterate(_LEASES + start.encode(), _LEASES_END)
        return [(key[len(_LEASES) :].decode(), _DECODE_LEASES(raw)) for key, raw in found]

    def any(self) -> bool:
        return next(iter(self._storage.iterate(_LEASES, _LEASES_END)), None) is not None


class Leaser(Native):
    """A sub-protocol's factory of leases."""

    tag = "[Leaser]"
    instantiate_type = wire.Instantiate
    execute_type = wire.Execute
    sudo_type = wire.Sudo
    query_type = wire.Query

    def __init__(self, build: ProtocolBuild) -> None:
        super().__init__(build.codec)
        self._currencies = build.currencies
        self._lpn = build.currencies.lpn.ticker
        self._release = protocol_release(build, NAME, VERSION, STORAGE_VERSION)

    def on_instantiate(self, case: Case, msg: wire.Instantiate) -> Response:
        for contract in (
            msg.lpp,
            msg.profit,
            msg.reserve,
            msg.time_alarms,
            msg.market_price_oracle,
            msg.protocols_registry,
        ):
            check_contract(case.querier, contract, self.tag)
        self._check_address(case, msg.lease_admin)
        case.storage.set(_OWNER, case.info.sender.encode())
        code = checked_code(case.querier, int(msg.lease_code), self.tag)
        _, *rest = msgspec.structs.astuple(msg)
        self._store(case, wire.Config(code, *rest))
        return Response()

    def on_migrate(self, case: Case, msg: bytes) -> Response:
        check_migration(self.codec, self._release, msg)
        return Response()

    # -- opening -------------------------------------------------------------------------------------------------

    def execute_open_lease(self, case: Case, msg: wire.OpenLease) -> Response:
        config, me = self._config(case), case.env.contract
        case.storage.set(_PENDING, case.info.sender.encode())
        form = lease_wire.NewLeaseForm(
            case.info.sender,
            msg.currency,
            msg.max_ltd,
            config.lease_position_spec,
            lease_wire.LoanForm(config.lpp, config.profit, config.lease_interest_rate_margin, config.lease_due_period),
            config.reserve,
            config.time_alarms,
            config.market_price_oracle,
        )
        new_lease = encode(lease_wire.Instantiate(form, config.dex, me))
        message = WasmInstantiate(config.lease_code, new_lease, "lease", me, case.info.funds)
        return Response([SubMessage(message, 0, ReplyOn.SUCCESS)])

    def on_reply(self, case: Case, reply: Reply) -> Response:
        lease, _ = instantiated(reply)
        customer = (case.storage.get(_PENDING) or b"").decode()
        case.storage.delete(_PENDING)
        Leases(case.storage).add(customer, lease)
        return Response(attributes=[("lease_address", lease)])

    def execute_finalize_lease(self, case: Case, msg: wire.FinalizeLease) -> Response:
        self._check_customer(case, msg.customer)
        check_code(case.querier, case.info.sender, self._config(case).lease_code, self.tag)
        Leases(case.storage).remove(msg.customer, case.info.sender)
        return Response()

    # -- configuration -------------------------------------------------------------------------------------------

    def execute_config_leases(self, case: Case, msg: wire.NewConfig) -> Response:
        self._check_admin(case)
        return self.sudo_config(case, msg)

    def execute_change_lease_admin(self, case: Case, msg: wire.ChangeLeaseAdmin) -> Response:
        self._check_admin(case)
        return self.sudo_change_lease_admin(case, msg)

    def sudo_config(self, case: Case, msg: wire.NewConfig) -> Response:
        self._store(
            case,
            msgspec.structs.replace(
                self._config(case),
                lease_interest_rate_margin=msg.lease_interest_rate_margin,
                lease_position_spec=msg.lease_position_spec,
                lease_due_period=msg.lease_due_period,
                lease_max_slippages=msg.lease_max_slippages,
            ),
        )
        return Response()

    def sudo_change_lease_admin(self, case: Case, msg: wire.ChangeLeaseAdmin) -> Response:
        self._check_address(case, msg.new)
        self._store(case, msgspec.structs.replace(self._config(case), lease_admin=msg.new))
        return Response()

    def sudo_close_protocol(self, case: Case, msg: wire.CloseProtocol) -> Response:
        if Leases(case.storage).any():
            raise Refused("The protocol is still in use. There are open leases")
        config, response = self._config(case), Response()
        response.send(WasmExecute(config.lpp, b'{"close_all_deposits":[]}'))
        response.send(WasmExecute(config.reserve, b'{"dump_balance_to":"%b"}' % config.lease_admin.encode()))
        response.send(
            WasmExecute(config.protocols_registry, b'{"deregister_protocol":%b}' % encode(msg.migration_spec))
        )
        return response

    # -- migration -----------------------------------------------------------------------------------------------

    def execute_migrate_leases(self, case: Case, msg: wire.MigrateLeases) -> Response:
        self._check_owner(case)
        code = checked_code(case.querier, int(msg.new_code_id), self.tag)
        config = msgspec.structs.replace(self._config(case), lease_code=code)
        self._store(case, config)
        response = self._migrating(case, code, "", msg.max_leases, msg.to_release)
        response.send(WasmExecute(config.lpp, b'{"new_lease_code":{"lease_code":%d}}' % code))
        response.send(WasmExecute(config.reserve, b'{"new_lease_code":%d}' % code))
        return response

    def execute_migrate_leases_cont(self, case: Case, msg: wire.MigrateLeasesCont) -> Response:
        self._check_owner(case)
        self._check_customer(case, msg.key)
        return self._migrating(case, self._config(case).lease_code, msg.key, msg.max_leases, msg.to_release)

    def _migrating(self, case: Case, code: int, start: str, limit: int, to_release: ReleaseId) -> Response:
        """Migrate whole customers while their leases fit the limit; the event says where to go on."""
        response, release, event = Response(), None, events.MigrateLeases(status="done")
        for customer, leases in Leases(case.storage).customers(start):
            limit -= len(leases)
            if limit < 0:
                event = events.MigrateLeases(continuation_key=customer)
                break
            for lease in leases:
                release = release or self._released(case, lease)
                migration = encode(Migration(release, to_release, Empty()))
                response.send(WasmMigrate(lease, code, migration))
        response.events.append(Event(event.type, event.attributes()))
        return response

    def _released(self, case: Case, lease: str) -> PackageRelease:
        try:
            return _DECODE_RELEASE(case.querier.smart(lease, b'{"protocol_package_release":{}}'))
        except ContractError as error:
            raise Refused(f"Failed to query for the Lease package, cause: {error}") from None

    # -- queries -------------------------------------------------------------------------------------------------

    def query_config(self, case: Case, msg: Any) -> wire.ConfigAnswer:
        return wire.ConfigAnswer(self._config(case))

    def query_leases(self, case: Case, msg: wire.Leases) -> list[str]:
        return Leases(case.storage).of(msg.owner)

    def query_max_slippages(self, case: Case, msg: Any) -> MaxSlippages:
        return self._config(case).lease_max_slippages

    def query_protocol_package_release(self, case: Case, msg: Any) -> PackageRelease:
        return self._release

    def query_check_anomaly_resolution_permission(self, case: Case, msg: wire.By) -> wire.Access:
        return "yes" if msg.by == self._config(case).lease_admin else "no"

    def query_check_close_position_permission(self, case: Case, msg: wire.By) -> wire.Access:
        return self.query_check_anomaly_resolution_permission(case, msg)

    def query_quote(self, case: Case, msg: wire.Quote) -> wire.QuoteAnswer:
        config = self._config(case)
        prices = PriceSource(config.market_price_oracle, case.querier, self._currencies)
        downpayment = prices.in_lpn(msg.downpayment.units, msg.downpayment.ticker)
        if downpayment == 0:
            raise Refused("Cannot open lease with zero downpayment")
        borrow = config.lease_position_spec.liability.value().borrow(downpayment, msg.max_ltd)
        value = prices.price(msg.lease_asset)
        asset = total(downpayment + borrow, Price(value.quote, value.amount))
        if asset is None:
            raise Refused("Overflow during `converting from Lpn to asset currency`")
        if borrow == 0:
            raise Refused("Cannot open lease with zero downpayment")
        loan = LpnCoin(str(borrow), self._lpn)
        rate = self._quoted(case, config.lpp, loan)
        return wire.QuoteAnswer(LeaseCoin(str(asset), msg.lease_asset), loan, rate, config.lease_interest_rate_margin)

    def _quoted(self, case: Case, lpp: str, loan: LpnCoin) -> int:
        try:
            answer = _DECODE_QUOTE(case.querier.smart(lpp, b'{"quote":{"amount":%b}}' % encode(loan)))
        except ContractError as error:
            raise ContractError(f"[Lease] [Lpp][Lender] [Std] {error}") from None
        if isinstance(answer, str) or answer.quote_interest_rate is None:
            raise Refused("No Liquidity")
        return answer.quote_interest_rate

    # -- parts ---------------------------------------------------------------------------------------------------

    def _config(self, case: Case) -> wire.Config:
        return _DECODE_CONFIG(case.storage.get(_CONFIG) or b"")

    def _store(self, case: Case, config: wire.Config) -> None:
        case.storage.set(_CONFIG, encode(config))

    def _check_admin(self, case: Case) -> None:
        if case.info.sender != self._config(case).lease_admin:
            raise Refused(f"Check permission failed, cause: {UNAUTHORIZED}")

    def _check_owner(self, case: Case) -> None:
        if case.info.sender.encode() != case.storage.get(_OWNER):
            raise Refused(f"Check permission failed, cause: {UNAUTHORIZED}")

    def _check_address(self, case: Case, address: str) -> None:
        if not case.querier.address_valid(address):
            raise Refused(f"Address validation failed, cause: {INVALID_ADDRESS}")

    def _check_customer(self, case: Case, customer: str) -> None:
        if not case.querier.address_valid(customer):
            raise Refused("Invalid continuation key, cause: invalid address ")
        try:
            case.querier.contract_info(customer)
        except ContractError:
            return
        raise Refused("Invalid continuation key, cause: smart contract key ")
