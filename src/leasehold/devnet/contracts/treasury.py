"""The treasury: pays lenders of every sub-protocol native rewards, by a scale of the value they lock.

Storage: `config`, `timealarms` and `dispatched`, the instant up to which rewards are paid.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from leasehold.devnet.contracts.build import PlatformBuild
from leasehold.devnet.contracts.native import Case, Native, software_release
from leasehold.devnet.contracts.platform import check_contract, check_platform_migration, check_sender, time_alarm
from leasehold.devnet.wasm.contract import BankCoin, ContractError, Event, Response, WasmExecute
from leasehold.protocol import events, rewards
from leasehold.protocol.messages import treasury as wire
from leasehold.protocol.messages.admin import Protocol
from leasehold.protocol.messages.values import PaymentCoin
from leasehold.protocol.price import Price

HOUR = 3_600_000_000_000
VERSION = "0.5.2"

_CONFIG = b"config"
_TIMEALARMS = b"timealarms"
_DISPATCHED = b"dispatched"


class Config(msgspec.Struct, frozen=True):
    """What is stored."""

    cadence_hours: int
    protocols_registry: str
    tvl_to_apr: wire.RewardScale


class _StablePrice(msgspec.Struct):
    amount: PaymentCoin
    amount_quote: PaymentCoin


class Pool(NamedTuple):
    """A registered pool, its oracle and its value in stable units."""

    lpp: str
    oracle: str
    tvl: int


_config = msgspec.json.Decoder(Config)
_names = msgspec.json.Decoder(list[str])
_protocol = msgspec.json.Decoder(Protocol)
_coin = msgspec.json.Decoder(PaymentCoin)
_price = msgspec.json.Decoder(_StablePrice)


class Treasury(Native):
    """The platform's dispatcher of rewards."""

    tag = "[Treasury]"
    instantiate_type = wire.Instantiate
    execute_type = wire.Execute
    sudo_type = wire.Sudo
    query_type = wire.Query

    def __init__(self, build: PlatformBuild) -> None:
        super().__init__(build.codec)
        self._native = build.native
        self._release = software_release(build.release, "treasury", VERSION, 1)

    def on_instantiate(self, case: Case, msg: wire.Instantiate) -> Response:
        check_contract(case.querier, msg.timealarms, f"{self.tag} Failed to setup a time alarms stub! Cause:")
        self._save(case, Config(msg.cadence_hours, msg.protocols_registry, msg.tvl_to_apr))
        case.storage.set(_TIMEALARMS, msg.timealarms.encode())
        case.storage.set(_DISPATCHED, str(case.now).encode())
        response = Response()
        response.send(time_alarm(msg.timealarms, case.now + msg.cadence_hours * HOUR))
        return response

    def execute_time_alarm(self, case: Case, msg: Any) -> Response:
        timealarms = (case.storage.get(_TIMEALARMS) or b"").decode()
        check_sender(case, timealarms, self.tag)
        config = self._load(case)
        period = case.now - int(case.storage.get(_DISPATCHED) or b"0")
        case.storage.set(_DISPATCHED, str(case.now).encode())
        pools = self._pools(case, config)
        apr = config.tvl_to_apr.value().apr(sum(pool.tvl for pool in pools))
        response = Response()
        for pool in pools:
            self._reward(case, pool, rewards.pool_reward(apr, pool.tvl, period, self._price(case, pool)), response)
        response.send(time_alarm(timealarms, case.now + config.cadence_hours * HOUR))
        return response

    def _reward(self, case: Case, pool: Pool, amount: int, response: Response) -> None:
        if amount:
            coin = BankCoin(self._native.bank_symbol, amount)
            response.send(WasmExecute(pool.lpp, b'{"distribute_rewards":[]}', (coin,)))
            env = case.env
            event = events.Rewards(
                height=env.height,
                at=env.time_ns,
                idx=env.tx_index,
                to=pool.lpp,
                rewards_amount=amount,
                rewards_symbol=self._native.ticker,
            )
            response.events.append(Event(event.type, event.attributes()))

    def sudo_config(self, case: Case, msg: wire.Cadence) -> Response:
        config = self._load(case)
        self._save(case, Config(msg.cadence_hours, config.protocols_registry, config.tvl_to_apr))
        return Response()

    def sudo_rewards(self, case: Case, msg: wire.Rewards) -> Response:
        config = self._load(case)
        self._save(case, Config(config.cadence_hours, config.protocols_registry, msg.tvl_to_apr))
        return Response()

    def query_config(self, case: Case, msg: Any) -> wire.Cadence:
        return wire.Cadence(self._load(case).cadence_hours)

    def query_calculate_rewards(self, case: Case, msg: Any) -> int:
        config = self._load(case)
        return config.tvl_to_apr.value().apr(sum(pool.tvl for pool in self._pools(case, config)))

    def on_migrate(self, case: Case, msg: bytes) -> Response:
        check_platform_migration(self.codec, self._release, msg)
        return Response()

    def query_platform_package_release(self, case: Case, msg: Any) -> Any:
        return self._release

    def _load(self, case: Case) -> Config:
        return _config.decode(case.storage.get(_CONFIG) or b"")

    def _save(self, case: Case, config: Config) -> None:
        case.storage.set(_CONFIG, msgspec.json.encode(config))

    def _pools(self, case: Case, config: Config) -> list[Pool]:
        """All registered pools with their value, in the order of the protocols' names."""
        registry = config.protocols_registry
        try:
            names = _names.decode(case.querier.smart(registry, b'{"protocols":{}}'))
            found = [
                _protocol.decode(case.querier.smart(registry, msgspec.json.encode({"protocol": name})))
                for name in names
            ]
        except ContractError as error:
            raise ContractError(f"{self.tag} Failed to retrieve all protocols! Cause: {error}") from error
        return [self._pool(case, protocol.contracts.lpp, protocol.contracts.oracle) for protocol in found]

    def _pool(self, case: Case, lpp: str, oracle: str) -> Pool:
        try:
            case.querier.smart(oracle, b'{"stable_currency":{}}')
        except ContractError as error:
            text = f"Failed to query the oracle for its stable ticker! Cause: [Oracle; Stub] {error}"
            raise ContractError(f"{self.tag} {text}") from error
        try:
            answer = case.querier.smart(lpp, msgspec.json.encode({"stable_balance": {"oracle_addr": oracle}}))
        except ContractError as error:
            text = f"Failed to obtain Lpp balance! Cause: [Lpp Platform] [Std] {error}"
            raise ContractError(f"{self.tag} {text}") from error
        return Pool(lpp, oracle, _coin.decode(answer).units)

    def _price(self, case: Case, pool: Pool) -> Price:
        """Price of the native currency in the pool's stable one."""
        query = msgspec.json.encode({"stable_price": {"currency": self._native.ticker}})
        try:
            found = _price.decode(case.querier.smart(pool.oracle, query))
        except ContractError as error:
            ticker = self._native.ticker
            text = (
                f"Failed to convert rewards to {ticker}! Cause: [Oracle] Failed to fetch price for the pair"
                f" {ticker}/STABLE! Possibly no price is available! Cause: {error}"
            )
            raise ContractError(f"{self.tag} {text}") from error
        return Price(found.amount.units, found.amount_quote.units)
