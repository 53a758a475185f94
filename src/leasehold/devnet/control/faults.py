"""Faults a devnet can be told to have, so that clients can be tested against them."""

from __future__ import annotations

from dataclasses import dataclass, field

from leasehold.core.errors import InvalidInput
from leasehold.devnet.chain import Devnet
from leasehold.devnet.grpc.server import GrpcServer
from leasehold.devnet.lcd.server import LcdApplication
from leasehold.devnet.rpc.server import RpcServer

SLOWEST_SECONDS = 60.0


@dataclass(slots=True)
class Surfaces:
    """The endpoints faults show on; without them only the chain's own answers change."""

    rpc: RpcServer | None = None
    lcd: LcdApplication | None = None
    grpc: GrpcServer | None = None


@dataclass(slots=True)
class Faults:
    """What is wrong at present."""

    devnet: Devnet
    surfaces: Surfaces = field(default_factory=Surfaces)
    slow_seconds: float = 0.0
    pruned_below: int = 0
    stale_at: int | None = None

    def slow(self, seconds: float) -> None:
        """Let every answer of RPC, LCD and gRPC take at least this long; 0 ends it."""
        if not 0 <= seconds <= SLOWEST_SECONDS:
            raise InvalidInput(f"a delay is 0 to {SLOWEST_SECONDS:g} seconds", field="slow_seconds")
        self.slow_seconds = seconds
        if self.surfaces.rpc is not None:
            self.surfaces.rpc.delay_answers(seconds)
        if self.surfaces.lcd is not None:
            self.surfaces.lcd.delay_seconds = seconds
        if self.surfaces.grpc is not None:
            self.surfaces.grpc.delay_answers(seconds)

    def drop_subscribers(self) -> int:
        """Cut off every WebSocket client; returns how many there were."""
        return self.surfaces.rpc.drop_subscribers() if self.surfaces.rpc is not None else 0

    def prune(self, below: int) -> None:
        """Look as if everything below a height had been pruned; 0 shows it again."""
        if not 0 <= below <= self.devnet.node.height:
            raise InvalidInput(f"a height is 0 to {self.devnet.node.height}", field="pruned_below")
        self.pruned_below = below
        self.devnet.node.store.hide(below)
        self.devnet.app.state.floor = below

    def stale(self, active: bool) -> None:
        """Answer as a replica that stopped following at the present height, or follow again."""
        self.stale_at = self.devnet.node.height if active else None
        self.devnet.node.frozen = self.stale_at
        self.devnet.app.queries.frozen = self.stale_at
        if self.surfaces.rpc is not None:
            self.surfaces.rpc.freeze(self.stale_at)

    def clear(self) -> None:
        """Be well again."""
        self.slow(0)
        self.prune(0)
        self.stale(False)
