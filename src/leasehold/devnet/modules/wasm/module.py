"""wasm: codes and contracts, reached by messages and queries; the runtime does the work."""

from __future__ import annotations

from leasehold.devnet.modules.wasm.governed import Governed
from leasehold.devnet.modules.wasm.queries import Queries


class Wasm(Governed, Queries):
    """Contracts."""
