"""The supply figures, computed from the chain's own state at one height."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from leasehold.chain.client.contracts import StateReader
from leasehold.chain.registry import Registry
from leasehold.chain.vesting import Period, Schedule, vested
from leasehold.core.clock import NANOSECONDS
from leasehold.core.settings import Settings

_VESTING = "cosmos.vesting.v1beta1."
_PAGE = 500


@dataclass(frozen=True, slots=True)
class VestingAccount:
    """A reserve account: what was granted and what is still vesting, in base units."""

    address: str
    kind: str
    original: int
    vesting: int


@dataclass(frozen=True, slots=True)
class Figures:
    """Supply of the native token at a height, in base units except `maximum` (whole tokens)."""

    height: int
    time_ns: int
    total: int
    accounts: tuple[VestingAccount, ...]
    maximum: int
    exponent: int

    @property
    def vesting(self) -> int:
        return sum(account.vesting for account in self.accounts)

    @property
    def circulating(self) -> int:
        return self.total - self.vesting

    def whole(self, amount: int) -> str:
        """Whole tokens of an amount of base units, truncated."""
        return str(amount // 10**self.exponent)


def still_vesting(account: Any, denom: str, now: int) -> tuple[int, int]:
    """Original grant of a vesting account message and the part not vested at `now` (unix seconds), of one denom."""
    base = account.base_vesting_account
    original = _amount(base.original_vesting, denom)
    schedule = Schedule(account.DESCRIPTOR.name)
    start = getattr(account, "start_time", 0)
    periods = [Period(p.length, _amount(p.amount, denom)) for p in getattr(account, "vesting_periods", ())]
    return original, original - vested(schedule, original, start, base.end_time, now, periods)


def _amount(coins: Any, denom: str) -> int:
    return sum(int(coin.amount) for coin in coins if coin.denom == denom)


class SupplyReader:
    """Reads the figures from a node."""

    def __init__(
        self,
        registry: Registry,
        settings: Settings,
        reader: StateReader,
        head: Callable[[], Awaitable[tuple[int, int]]],
    ) -> None:
        self._registry = registry
        self._settings = settings
        self._reader = reader
        self._head = head

    async def read(self) -> Figures:
        """All figures, from the state of the node's latest block."""
        height, time_ns = await self._head()
        now = time_ns // NANOSECONDS
        identity = self._settings.identity
        answer = await self._ask("cosmos.bank.v1beta1", "SupplyOf", height, denom=identity.base_denom)
        reserve = self._settings.supply_api.reserve_accounts
        messages = await (self._named(reserve, height) if reserve else self._all(height))
        accounts = tuple(
            VestingAccount(text, message.DESCRIPTOR.name, *still_vesting(message, identity.base_denom, now))
            for text, message in messages
        )
        return Figures(
            height=height,
            time_ns=time_ns,
            total=int(answer.amount.amount),
            accounts=tuple(sorted((a for a in accounts if a.original), key=lambda a: a.address)),
            maximum=self._settings.supply_api.max_supply,
            exponent=identity.exponent,
        )

    async def _named(self, addresses: tuple[str, ...], height: int) -> list[tuple[str, Any]]:
        found = []
        for address in addresses:
            answer = await self._ask("cosmos.auth.v1beta1", "Account", height, address=address)
            found += self._vesting([answer.account])
        return found

    async def _all(self, height: int) -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        key = b""
        while True:
            page = {"limit": _PAGE, "key": key}
            answer = await self._ask("cosmos.auth.v1beta1", "Accounts", height, pagination=page)
            found += self._vesting(answer.accounts)
            key = answer.pagination.next_key
            if not key:
                return found

    def _vesting(self, packed: Any) -> list[tuple[str, Any]]:
        names = [entry for entry in packed if entry.type_url.startswith("/" + _VESTING)]
        messages = [self._registry.unpack(entry) for entry in names]
        return [(message.base_vesting_account.base_account.address, message) for message in messages]

    async def _ask(self, package: str, method: str, height: int, **fields: Any) -> Any:
        path = f"/{package}.Query/{method}"
        kinds = self._registry.method_by_path[path]
        request = kinds.request_type(**fields)
        data = await self._reader.abci_query(path, request.SerializeToString(), height)
        return self._registry.parse(kinds.response_type, data)
