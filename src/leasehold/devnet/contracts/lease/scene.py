"""One call of a lease: what it works with, and how its responses are put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from leasehold.devnet.contracts.native import Case
from leasehold.devnet.contracts.price_source import PriceSource
from leasehold.devnet.wasm.contract import BankCoin, ContractError, Event, Message, Response
from leasehold.protocol.currencies import CurrencySet
from leasehold.protocol.errors import Refused
from leasehold.protocol.events import ProtocolEvent
from leasehold.protocol.loan import LeaseLoan
from leasehold.protocol.messages import lpp, values
from leasehold.protocol.messages.lease_state import LeaseCore
from leasehold.protocol.pool import Loan
from leasehold.protocol.price import Price

_LOAN: Callable[[bytes], lpp.Loan | None] = msgspec.json.Decoder(lpp.Loan | None).decode
_SLIPPAGES = msgspec.json.Decoder(values.MaxSlippages).decode


class Scene:
    """The case and the currencies, and what a lease asks others."""

    __slots__ = ("case", "currencies")

    def __init__(self, case: Case, currencies: CurrencySet) -> None:
        self.case = case
        self.currencies = currencies

    @property
    def now(self) -> int:
        return self.case.env.time_ns

    @property
    def me(self) -> str:
        return self.case.env.contract

    @property
    def at(self) -> dict[str, Any]:
        """The attributes that open an event: height, time and index."""
        env = self.case.env
        return {"height": env.height, "at": env.time_ns, "idx": env.tx_index}

    def prices(self, oracle: str) -> PriceSource:
        return PriceSource(oracle, self.case.querier, self.currencies)

    def price(self, core: LeaseCore) -> Price:
        """Price of the leased asset in the lent currency."""
        return self.prices(core.oracle.addr).price(core.position.amount.ticker)

    def pool_loan(self, pool: str) -> Loan:
        """The loan of this lease."""
        try:
            answer = self.case.querier.smart(pool, b'{"loan":{"lease_addr":"%b"}}' % self.me.encode())
        except ContractError as error:
            raise Refused(f"[Lpp][Lender] [Std] {error}") from None
        loan = _LOAN(answer)
        if loan is None:
            raise Refused("[Lpp][Lender] The loan does not exist")
        return loan.value()

    def lease_loan(self, core: LeaseCore) -> LeaseLoan:
        """The loan with this lease's margin."""
        return core.lease_loan(self.pool_loan(core.loan.lpp.addr))

    def max_slippage(self, leaser: str) -> int:
        """Permille that a liquidation may lose now."""
        try:
            return _SLIPPAGES(self.case.querier.smart(leaser, b'{"max_slippages":{}}')).liquidation
        except ContractError:
            raise Refused("Failed to query Position Limits") from None

    def granted(self, leaser: str, permission: str) -> bool:
        """Whether the leaser grants the caller a permission."""
        query = b'{"check_%b_permission":{"by":"%b"}}' % (permission.encode(), self.case.info.sender.encode())
        try:
            return self.case.querier.smart(leaser, query) == b'"yes"'
        except ContractError as error:
            raise Refused(f"[Access Control] [Std] {error}") from None

    def coin(self, amount: int, ticker: str) -> BankCoin:
        return BankCoin(self.currencies.denom(ticker), amount)


def emitted(event: ProtocolEvent, kind: str = "") -> Event:
    """A protocol event as a contract emits it."""
    return Event(kind or event.type, event.attributes())


def response_of(messages: list[Message], *events: ProtocolEvent) -> Response:
    """Messages whose outcome is not of interest, and events."""
    response = Response(events=[emitted(event) for event in events])
    for message in messages:
        response.send(message)
    return response


def merged(first: Response, second: Response) -> Response:
    """Both responses, the first one's messages and events in front."""
    return Response(first.messages + second.messages, [], first.events + second.events)
