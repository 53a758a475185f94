"""What a contract is built with: the release it belongs to and, for a sub-protocol, its name and currencies.

On the real chain these are compiled in, one set of codes per sub-protocol; here they are values given to a contract.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from leasehold.protocol.currencies import Currency, CurrencySet
from leasehold.protocol.serde import Codec

RELEASE = "v0.8.24"


@dataclass(frozen=True)
class PlatformBuild:
    """Build of the contracts that serve every sub-protocol."""

    native: Currency
    release: str = RELEASE
    codec: Codec = field(default_factory=Codec, compare=False)


@dataclass(frozen=True)
class ProtocolBuild:
    """Build of one sub-protocol's contracts: `name` like `OSMOSIS-OSMOSIS-USDC_NOBLE`, `network` like `OSMOSIS`."""

    name: str
    network: str
    currencies: CurrencySet
    release: str = RELEASE
    codec: Codec = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "codec", Codec(self.currencies))
