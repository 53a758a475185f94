"""The liquidity pool: lenders' deposits, leases' loans and lenders' rewards.

Storage: `admin` (the leaser), and what the ledger keeps.
"""

from __future__ import annotations

from typing import Any

import msgspec

from leasehold.devnet.contracts.build import ProtocolBuild
from leasehold.devnet.contracts.lpp_ledger import Ledger
from leasehold.devnet.contracts.native import Case, Native
from leasehold.devnet.contracts.platform import (
    check_code,
    check_sender,
    checked_address,
    checked_code,
    one_coin,
    storage_key_text,
)
from leasehold.devnet.contracts.price_source import PriceSource
from leasehold.devnet.contracts.release import check_migration, protocol_release
from leasehold.devnet.wasm.contract import BankCoin, BankSend, ContractError, ContractTrap, Event, Response
from leasehold.protocol import events, pool, rewards
from leasehold.protocol.errors import Refused
from leasehold.protocol.messages import lpp as wire
from leasehold.protocol.messages.values import Bare, BarePrice, LpnCoin, PaymentCoin
from leasehold.protocol.serde import encode

NAME, VERSION, STORAGE_VERSION = "lpp", "0.7.1", 3

_ADMIN = b"admin"


class Lpp(Native):
    """A sub-protocol's pool."""

    tag = "[Lpp]"
    instantiate_type = wire.Instantiate
    execute_type = wire.Execute
    sudo_type = wire.Sudo
    query_type = wire.Query

    def __init__(self, build: ProtocolBuild) -> None:
        super().__init__(build.codec)
        self._currencies = build.currencies
        self._lpn = build.currencies.lpn
        self._native = build.currencies.native
        self._release = protocol_release(build, NAME, VERSION, STORAGE_VERSION)

    def on_instantiate(self, case: Case, msg: wire.Instantiate) -> Response:
        case.storage.set(_ADMIN, checked_address(case.querier, msg.protocol_admin, self.tag).encode())
        code = checked_code(case.querier, int(msg.lease_code), self.tag)
        ledger = Ledger(case.storage)
        ledger.set_config(wire.Config(code, msg.borrow_rate, msg.min_utilization))
        ledger.set_totals(pool.PoolTotals())
        return Response()

    def on_migrate(self, case: Case, msg: bytes) -> Response:
        check_migration(self.codec, self._release, msg)
        return Response()

    # -- loans ---------------------------------------------------------------------------------------------------

    def execute_new_lease_code(self, case: Case, msg: wire.NewLeaseCode) -> Response:
        self._check_admin(case)
        ledger = Ledger(case.storage)
        ledger.set_config(msgspec.structs.replace(ledger.config(), lease_code=msg.lease_code))
        return Response()

    def execute_open_loan(self, case: Case, msg: wire.OpenLoan) -> Response:
        ledger, amount = Ledger(case.storage), msg.amount.units
        lease = self._check_lease(case, ledger)
        if amount == 0:
            raise Refused("Zero loan amount")
        totals = ledger.totals()
        rate = pool.quote_rate(totals, ledger.config().borrow_rate.value(), case.now, self._balance(case), amount)
        if rate is None:
            raise Refused("No liquidity")
        if ledger.loan(lease) is not None:
            raise Refused("The loan exists")
        loan = pool.Loan(amount, rate, case.now)
        ledger.set_totals(totals.borrow(case.now, amount, rate))
        ledger.set_loan(lease, loan)
        response = Response(data=encode(wire.Loan.of(loan)))
        response.send(self._paying(lease, amount))
        return response

    def execute_repay_loan(self, case: Case, msg: Any) -> Response:
        payment = one_coin(case.info.funds, self._lpn, self.tag)
        ledger = Ledger(case.storage)
        lease = self._check_lease(case, ledger)
        loan = ledger.loan(lease)
        if loan is None:
            key = storage_key_text("loans", lease.encode())
            raise Refused(
                f"[Std] kind: Other, error: type: lpp::loan::Loan<{self._lpn.definition}>; key: {key} not found"
            )
        after, shares = loan.repay(case.now, payment)
        ledger.set_loan(lease, after)
        ledger.set_totals(ledger.totals().repay(case.now, shares, loan.rate))
        response = Response(data=encode(Bare(str(shares.excess))))
        if shares.excess:
            response.send(self._paying(lease, shares.excess))
        return response

    # -- deposits ------------------------------------------------------------------------------------------------

    def execute_deposit(self, case: Case, msg: Any) -> Response:
        amount = one_coin(case.info.funds, self._lpn, self.tag)
        if amount == 0:
            raise Refused("Zero deposit amount")
        ledger, lender = Ledger(case.storage), case.info.sender
        totals, balance = ledger.totals(), self._balance(case) - amount
        capacity = pool.deposit_capacity(totals.total_due(case.now), balance, ledger.config().min_utilization)
        if capacity is not None and amount > capacity:
            raise Refused("Utilization is below the set minimal rate")
        receipts = totals.receipts_for(case.now, balance, amount)
        if receipts == 0:
            raise Refused("Insufficient deposit amount! It must at least be total to the smallest receipt unit!")
        index = ledger.index()
        deposit = ledger.deposit(lender) or rewards.Deposit(0, None, 0)
        ledger.set_totals(totals.with_receipts(receipts))
        ledger.set_deposit(lender, deposit.settled(index, deposit.receipts + receipts))
        event = events.Deposit(
            height=case.env.height,
            at=case.now,
            idx=case.env.tx_index,
            sender=lender,
            to=case.env.contract,
            deposit_amount=amount,
            deposit_symbol=self._lpn.ticker,
            receipts=receipts,
        )
        return Response(events=[Event(event.type, event.attributes())])

    def execute_burn(self, case: Case, msg: wire.Burn) -> Response:
        receipts, lender = msg.amount.units, case.info.sender
        if receipts == 0:
            raise Refused("Zero withdraw amount")
        ledger = Ledger(case.storage)
        deposit = self._existing(ledger, lender)
        response = Response()
        totals, _ = self._withdraw(case, ledger, response, ledger.totals(), lender, deposit, receipts, 0)
        ledger.set_totals(totals)
        return response

    def execute_close_all_deposits(self, case: Case, msg: Any) -> Response:
        self._check_admin(case)
        ledger = Ledger(case.storage)
        if ledger.has_loans():
            raise ContractTrap("There is/are active loan(s)! The protocol admin should have checked it first!")
        response, totals, pending = Response(), ledger.totals(), 0
        for lender, deposit in ledger.deposits():
            totals, paid = self._withdraw(case, ledger, response, totals, lender, deposit, deposit.receipts, pending)
            pending += paid
        ledger.set_totals(totals)
        return response

    def _withdraw(
        self,
        case: Case,
        ledger: Ledger,
        response: Response,
        totals: pool.PoolTotals,
        lender: str,
        deposit: rewards.Deposit,
        receipts: int,
        pending: int,
    ) -> tuple[pool.PoolTotals, int]:
        """Pay receipts out of what is free after `pending`; the last ones of a lender with the rewards."""
        if deposit.receipts < receipts:
            raise Refused("Insufficient balance")
        settled = deposit.settled(ledger.index(), deposit.receipts - receipts)
        balance = self._balance(case) - pending
        amount = totals.worth_of(case.now, balance, receipts)
        if balance < amount:
            raise Refused("No liquidity")
        ledger.set_deposit(lender, settled)
        response.send(self._paying(lender, amount))
        if settled.receipts == 0 and settled.pending:
            response.send(BankSend(lender, (BankCoin(self._native.bank_symbol, settled.pending),)))
        event = events.Withdraw(
            height=case.env.height,
            at=case.now,
            idx=case.env.tx_index,
            to=lender,
            sender=case.env.contract,
            withdraw_amount=amount,
            withdraw_symbol=self._lpn.ticker,
            receipts=receipts,
            close=settled.receipts == 0,
        )
        response.events.append(Event(event.type, event.attributes()))
        return totals.with_receipts(-receipts), amount

    # -- rewards -------------------------------------------------------------------------------------------------

    def execute_distribute_rewards(self, case: Case, msg: Any) -> Response:
        reward = one_coin(case.info.funds, self._native, self.tag)
        if reward == 0:
            raise Refused("Zero rewards")
        ledger = Ledger(case.storage)
        receipts = ledger.totals().receipts
        if receipts == 0:
            raise Refused("Distribute rewards with zero balance nlpn")
        ledger.set_index(rewards.index_after(ledger.index(), reward, receipts))
        return Response()

    def execute_claim_rewards(self, case: Case, msg: wire.ClaimRewards) -> Response:
        recipient = case.info.sender
        if msg.other_recipient is not None:
            recipient = checked_address(case.querier, msg.other_recipient, self.tag)
        ledger = Ledger(case.storage)
        deposit = self._existing(ledger, case.info.sender)
        settled = deposit.settled(ledger.index(), deposit.receipts)
        if settled.pending == 0:
            raise Refused("No pending rewards")
        ledger.set_deposit(case.info.sender, settled._replace(pending=0))
        response = Response()
        response.send(BankSend(recipient, (BankCoin(self._native.bank_symbol, settled.pending),)))
        return response

    # -- governance ----------------------------------------------------------------------------------------------

    def sudo_new_borrow_rate(self, case: Case, msg: wire.NewBorrowRate) -> Response:
        ledger = Ledger(case.storage)
        ledger.set_config(msgspec.structs.replace(ledger.config(), borrow_rate=msg.borrow_rate))
        return Response()

    def sudo_min_utilization(self, case: Case, msg: wire.MinUtilization) -> Response:
        ledger = Ledger(case.storage)
        ledger.set_config(msgspec.structs.replace(ledger.config(), min_utilization=msg.min_utilization))
        return Response()

    # -- queries -------------------------------------------------------------------------------------------------

    def query_config(self, case: Case, msg: Any) -> wire.Config:
        return Ledger(case.storage).config()

    def query_protocol_package_release(self, case: Case, msg: Any) -> Any:
        return self._release

    def query_lpn(self, case: Case, msg: Any) -> str:
        return self._lpn.ticker

    def query_quote(self, case: Case, msg: wire.Quote) -> Any:
        ledger = Ledger(case.storage)
        rate = pool.quote_rate(
            ledger.totals(), ledger.config().borrow_rate.value(), case.now, self._balance(case), msg.amount.units
        )
        return "no_liquidity" if rate is None else wire.QuoteAnswer(rate)

    def query_loan(self, case: Case, msg: wire.LoanOf) -> wire.Loan | None:
        loan = Ledger(case.storage).loan(msg.lease_addr)
        return None if loan is None else wire.Loan.of(loan)

    def query_balance(self, case: Case, msg: wire.BalanceOf) -> Bare:
        deposit = Ledger(case.storage).deposit(msg.address)
        return Bare(str(deposit.receipts if deposit else 0))

    def query_lpp_balance(self, case: Case, msg: Any) -> wire.LppBalance:
        totals = Ledger(case.storage).totals()
        return wire.LppBalance(
            self._coin(self._balance(case)),
            self._coin(totals.principal),
            self._coin(totals.interest_due(case.now)),
            Bare(str(totals.receipts)),
        )

    def query_stable_balance(self, case: Case, msg: wire.StableBalance) -> PaymentCoin:
        value = Ledger(case.storage).totals().value(case.now, self._balance(case))
        oracle = PriceSource(msg.oracle_addr, case.querier, self._currencies)
        try:
            oracle.checked()
        except Refused as refusal:
            raise Refused(f"Invalid Oracle Base currency! Cause: {refusal.message}") from None
        try:
            amount = oracle.from_lpn(value, self._currencies.stable)
        except Refused as refusal:
            raise Refused(
                "Failure converting from the quote currency! Cause: [Oracle; Price; Stub] Failed to convert from the"
                f" quote currency! Cause: {refusal.message}"
            ) from None
        return PaymentCoin(str(amount), self._currencies.stable)

    def query_price(self, case: Case, msg: Any) -> BarePrice:
        return BarePrice.of(Ledger(case.storage).totals().receipt_price(case.now, self._balance(case)))

    def query_deposit_capacity(self, case: Case, msg: Any) -> Bare | None:
        ledger = Ledger(case.storage)
        capacity = pool.deposit_capacity(
            ledger.totals().total_due(case.now), self._balance(case), ledger.config().min_utilization
        )
        return None if capacity is None else Bare(str(capacity))

    def query_rewards(self, case: Case, msg: wire.RewardsOf) -> wire.Rewards:
        ledger = Ledger(case.storage)
        return wire.Rewards(Bare(str(self._existing(ledger, msg.address).rewards(ledger.index()))))

    # -- parts ---------------------------------------------------------------------------------------------------

    def _check_admin(self, case: Case) -> None:
        check_sender(case, (case.storage.get(_ADMIN) or b"").decode(), self.tag)

    def _check_lease(self, case: Case, ledger: Ledger) -> str:
        check_code(case.querier, case.info.sender, ledger.config().lease_code, self.tag)
        return case.info.sender

    def _existing(self, ledger: Ledger, lender: str) -> rewards.Deposit:
        deposit = ledger.deposit(lender)
        if deposit is None:
            raise ContractError(f"{self.tag} The deposit does not exist")
        return deposit

    def _balance(self, case: Case) -> int:
        return case.querier.balance(case.env.contract, self._lpn.bank_symbol)

    def _coin(self, amount: int) -> LpnCoin:
        return LpnCoin(str(amount), self._lpn.ticker)

    def _paying(self, to: str, amount: int) -> BankSend:
        return BankSend(to, (BankCoin(self._lpn.bank_symbol, amount),))
