"""The simulated chain with what it leaves out: covered losses, claimed rewards, refused swaps, automatic closes."""

from __future__ import annotations

import random
from typing import Any

from tests.unit.data_api.served_history import Scenario, simulated_chain

event, Market = simulated_chain.event, simulated_chain.Market
EXECUTE = "/cosmwasm.wasm.v1.MsgExecuteContract"


class LivelyScenario(Scenario):
    """As the simulation, and one more thing in every fifth block; its own dice leave those of the simulation alone."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._dice = random.Random(seed)
        # Lender, pool, base units of the native token.
        self.claims: list[tuple[str, str, int]] = []

    def _keepers(self) -> None:
        super()._keepers()
        if self.height % 5 == 0:
            self._dice.choice([self._cover, self._claim, self._refuse, self._fire])()

    def _lease(self) -> Any:
        opened = [lease for lease in self.leases.values() if lease.status == "open"]
        return self._dice.choice(opened) if opened else None

    def _relayed(self, to: str, said: dict[str, Any]) -> None:
        self._tx([self._execute(self.keeper, to, {"relay": {}})], [said])

    def _cover(self) -> None:
        lease = self._lease()
        if lease is None:
            return
        amount, reserve = self._dice.randint(1, 10**9), lease.market.address("reserve")
        coins = ("payment-amount", str(amount)), ("payment-symbol", lease.market.lpn)
        head = ("_contract_address", reserve), *self._dated(), ("to", lease.address)
        self._relayed(lease.address, event("wasm-reserve-cover-loss", *head, *coins))

    def _claim(self) -> None:
        held = [(who, pool) for (who, pool), state in self.truth.lenders.items() if state[0] > 0]
        rich = [pair for pair in held if self.truth.balances[pair[1], simulated_chain.NATIVE] > 10]
        if not rich:
            return
        lender, pool = self._dice.choice(rich)
        amount = self._dice.randint(1, self.truth.balances[pool, simulated_chain.NATIVE] // 2)
        moved = self._moved(pool, lender, amount, simulated_chain.NATIVE)
        self._noted(4, EXECUTE, lender, pool)
        call = {"claim_rewards": {"other_recipient": None}}
        self._tx([self._execute(lender, pool, call)], [event("execute", ("_contract_address", pool)), *moved])
        self.claims.append((lender, pool, amount))

    def _refuse(self) -> None:
        lease = self._lease()
        if lease is not None:
            said = ("customer", lease.owner), ("lease", lease.address), ("lease-asset", lease.asset)
            head = ("_contract_address", lease.address), *said, ("max_slippage", str(self._dice.randint(1, 200)))
            self._relayed(lease.address, event("wasm-ls-slippage-anomaly", *head))

    def _fire(self) -> None:
        lease = self._lease()
        if lease is not None:
            policy = self._dice.choice(["take-profit-ltv", "stop-loss-ltv"])
            head = ("_contract_address", lease.address), *self._dated(), ("to", lease.address)
            self._relayed(
                lease.address,
                event("wasm-ls-auto-close-position", *head, (policy, str(self._dice.randint(100, 899)))),
            )
