"""Money of a made-up chain: prices, deposits, withdrawals, rewards and profits, with their truth."""

from __future__ import annotations

from simulated_market import (
    HOUR,
    NATIVE,
    NATIVE_TICKER,
    SECOND,
    Market,
    contract,
)
from simulated_node import SimulatedNode
from static_feed import event


class SimulatedPools(SimulatedNode):
    """Feeders, lenders and the treasury."""

    # --- prices ------------------------------------------------------------------------------------------------

    def _feed(self, market: Market) -> None:
        prices = []
        for ticker, _, parent in market.tree:
            if parent is None:
                continue
            amount, quote = self._quote(market, ticker, parent)
            market.fed[ticker, parent] = (amount, quote)
            prices.append(
                {
                    "amount": {"amount": str(amount), "ticker": ticker},
                    "amount_quote": {"amount": str(quote), "ticker": parent},
                }
            )
        oracle = market.address("oracle")
        call = {"feed_prices": {"prices": prices}}
        self._tx([self._execute(self.feeder, oracle, call)], [event("execute", ("_contract_address", oracle))])

    def _quote(self, market: Market, ticker: str, parent: str) -> tuple[int, int]:
        whole = {"BTC": 60_000, "ETH": 3_000, "USDC": 1, NATIVE_TICKER: 0.05}
        factor = self.random.randint(900, 1100)
        quote = int(whole[ticker] / whole[parent] * factor * 10**9) or 1
        amount = 10**12
        shift = market.decimals(ticker) - market.decimals(parent)
        return (amount * 10 ** max(shift, 0), quote * 10 ** max(-shift, 0))

    def _sample(self, market: Market) -> None:
        same_minute = self.now // (60 * SECOND) == market.sampled_at // (60 * SECOND)
        if same_minute and self.now - market.sampled_at < 15 * SECOND:
            return
        market.sampled_at = self.now // 1000 * 1000
        for ticker, _, _ in market.tree:
            price = market.price(ticker)
            assert price is not None
            start = self.now // HOUR
            candle = self.truth.candles.setdefault((market.name, ticker, start), [price, price, price, price, 0])
            candle[1], candle[2], candle[3] = max(candle[1], price), min(candle[2], price), price
            candle[4] += 1

    # --- pools -------------------------------------------------------------------------------------------------

    def _value(self, market: Market) -> int:
        balance = self.truth.balances[market.address("lpp"), market.coins[market.lpn].denom]
        return balance + market.principal + market.interest_due(self.now)

    def _deposit(self, market: Market) -> None:
        lender, pool = self.random.choice(self.lenders), market.address("lpp")
        amount = self.random.randint(10**9, 10**12)
        receipts = amount * market.receipts // self._value(market) if market.receipts else amount
        denom = market.coins[market.lpn].denom
        usd = market.usd(market.lpn, amount)
        events = [event("execute", ("_contract_address", pool)), *self._moved(lender, pool, amount, denom)]
        self.truth.pool_flows[self._key(len(events))] = ("deposit", pool, lender, amount, receipts, usd, False)
        parties = ("from", lender), ("to", pool)
        coins = ("deposit-amount", str(amount)), ("deposit-symbol", market.lpn), ("receipts", str(receipts))
        events.append(event("wasm-lp-deposit", ("_contract_address", pool), *self._dated(), *parties, *coins))
        self._noted(4, "/cosmwasm.wasm.v1.MsgExecuteContract", lender, pool)
        self._tx([self._execute(lender, pool, {"deposit": []}, [(amount, denom)])], events)
        market.receipts += receipts
        state = self.truth.lenders.setdefault((lender, pool), [0, 0, 0])
        state[0] += receipts
        state[1] += amount
        self._count("tx_value", usd, "deposited_usd")
        self._active(lender)

    def _withdraw(self, market: Market) -> None:
        pool = market.address("lpp")
        denom = market.coins[market.lpn].denom
        holders = [(who, s) for (who, of), s in self.truth.lenders.items() if of == pool and s[0] > 0]
        if not holders:
            return self._deposit(market)
        lender, state = self.random.choice(holders)
        receipts = state[0] if self.random.random() < 0.3 else self.random.randint(1, state[0])
        amount = receipts * self._value(market) // market.receipts
        if not 0 < amount <= self.truth.balances[pool, denom]:
            return self._deposit(market)
        closes = receipts == state[0]
        usd = market.usd(market.lpn, amount)
        events = [event("execute", ("_contract_address", pool)), *self._moved(pool, lender, amount, denom)]
        self.truth.pool_flows[self._key(len(events))] = ("withdraw", pool, lender, amount, receipts, usd, closes)
        parties = ("to", lender), ("from", pool)
        coins = ("withdraw-amount", str(amount)), ("withdraw-symbol", market.lpn), ("receipts", str(receipts))
        close = ("close", "true" if closes else "false")
        events.append(event("wasm-lp-withdraw", ("_contract_address", pool), *self._dated(), *parties, *coins, close))
        self._noted(4, "/cosmwasm.wasm.v1.MsgExecuteContract", lender, pool)
        self._tx([self._execute(lender, pool, {"burn": {"amount": {"amount": str(receipts)}}})], events)
        market.receipts -= receipts
        state[0] -= receipts
        state[2] += amount
        self._count("tx_value", usd, "withdrawn_usd")
        self._active(lender)
        return None

    def _treasury(self, market: Market) -> None:
        amount = self.random.randint(1, 10**10)
        usd = amount * (market.price(NATIVE_TICKER) or 0) // 10**6
        if self.random.random() < 0.5:
            profit = market.address("profit")
            events = self._moved(profit, self.treasury, amount, NATIVE)
            self.truth.treasury_flows[self._key(len(events))] = ("profit", amount, usd)
            coins = ("profit-amount-amount", str(amount)), ("profit-amount-symbol", NATIVE_TICKER)
            if self.random.random() < 0.3:
                coins = ()
            events.append(event("wasm-tr-profit", ("_contract_address", profit), *self._dated(), *coins))
            name = "profit"
        else:
            pool = market.address("lpp")
            events = self._moved(self.treasury, pool, amount, NATIVE)
            self.truth.treasury_flows[self._key(len(events))] = ("rewards", amount, usd)
            coins = ("rewards-amount", str(amount)), ("rewards-symbol", NATIVE_TICKER)
            head = ("_contract_address", self.treasury), *self._dated(), ("to", pool)
            events.append(event("wasm-tr-rewards", *head, *coins))
            name = "rewards"
        self.truth.totals[name] += usd
        self.truth.days[self._day, f"{name}_usd"] += usd
        self._tx([self._execute(self.keeper, contract("timealarms"), {"dispatch_alarms": {}})], events)
