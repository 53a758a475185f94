"""The swap-routing provider: answers are passed on as they are, so only what we rely on is looked at."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import msgspec

from leasehold.app_api.upstreams.transport import Transport

# Members clients find in every chain, null where the provider has none.
CHAIN_MEMBERS = (
    "chain_name",
    "chain_id",
    "chain_type",
    "pfm_enabled",
    "cosmos_module_support",
    "supports_memo",
    "logo_uri",
    "bech32_prefix",
    "fee_assets",
    "is_testnet",
)


class _Chain(msgspec.Struct):
    chain_name: str
    chain_id: str
    chain_type: str


class _Chains(msgspec.Struct):
    chains: list[msgspec.Raw]


class _State(msgspec.Struct):
    state: str


class SwapProvider:
    """Reads of the swap-routing provider."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    async def chains(self, *, include_evm: bool, include_svm: bool) -> list[dict[str, Any]]:
        """The provider's chains; every member it sent, and null for those of CHAIN_MEMBERS it did not."""
        query = f"include_evm={str(include_evm).lower()}&include_svm={str(include_svm).lower()}"
        found = await self.transport.read(f"/v2/info/chains?{query}", _Chains, context="chains")
        listed = []
        for raw in found.chains:
            self.transport.decode(bytes(raw), _Chain, "chains")
            # Members stay undecoded: a number too long for any type of ours still arrives as it was sent.
            members: dict[str, Any] = self.transport.decode(bytes(raw), dict[str, msgspec.Raw], "chains")
            listed.append({**dict.fromkeys(CHAIN_MEMBERS), **members})
        return listed

    async def status(self, tx_hash: str, chain_id: str) -> bytes:
        """The provider's word on a transaction, as it was sent."""
        query = urlencode({"tx_hash": tx_hash, "chain_id": chain_id})
        body = await self.transport.get(f"/v2/tx/status?{query}", context="status")
        self.transport.decode(body, _State, "status")
        return body
