"""A chain under control, for the tests of control."""

from __future__ import annotations

from dataclasses import dataclass

from leasehold.core.clock import ManualClock
from leasehold.devnet.chain import Devnet
from leasehold.devnet.control.control import Control

START = 1_790_000_000


@dataclass
class Ground:
    """A chain under control, and the machine's clock beneath it."""

    control: Control
    base: ManualClock

    @property
    def devnet(self) -> Devnet:
        return self.control.devnet

    def balance(self, address: str, denom: str) -> int:
        app = self.devnet.app
        return app.modules.bank.balance(app.context(), app.modules.auth.address_bytes(address), denom)
