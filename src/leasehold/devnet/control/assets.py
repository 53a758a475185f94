"""Coins as people write them: `1000000ulsh`, `2.5LSH`, `100USDC_NOBLE`, `3NEUTRON:ATOM`."""

from __future__ import annotations

import re
from decimal import Decimal

from leasehold.core.errors import InvalidInput
from leasehold.core.settings import Identity
from leasehold.devnet.genesis.networks import NETWORKS

_COIN = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z][A-Za-z0-9/:._-]{1,127})")


class Assets:
    """Denoms and decimals by ticker; a ticker that several networks have means the first one's."""

    def __init__(self, identity: Identity) -> None:
        self._known: dict[str, tuple[str, int]] = {identity.display: (identity.base_denom, identity.exponent)}
        for network in NETWORKS:
            for asset in network.assets:
                entry = (network.here(asset), asset.decimals)
                self._known.setdefault(asset.ticker, entry)
                self._known[f"{network.key}:{asset.ticker}"] = entry

    def tickers(self) -> dict[str, str]:
        """Denoms by ticker, with and without the network."""
        return {ticker: denom for ticker, (denom, _) in self._known.items()}

    def coin(self, text: str) -> tuple[str, int]:
        """Denom and smallest units of a coin: whole units of a ticker, or smallest units of a denom."""
        match = _COIN.fullmatch(text.strip())
        if match is None:
            raise InvalidInput(
                f"{text!r} is no coin", field="coin", hint="write an amount and a denom or ticker, as 5LSH"
            )
        number, name = Decimal(match[1]), match[2]
        if name in self._known:
            denom, decimals = self._known[name]
            number = number.scaleb(decimals)
        else:
            denom = name
        if number != int(number):
            raise InvalidInput(f"{text!r} is finer than the smallest unit", field="coin")
        return denom, int(number)
