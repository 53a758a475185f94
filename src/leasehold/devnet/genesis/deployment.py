"""How the contracts come to be: codes, instances, registration, feeders; carried out at genesis by the wasm module.

Every address is known beforehand: platform contracts by the counter, protocol contracts by instantiate2 with the
admin contract as creator and the protocol's name as salt.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from leasehold.core.addresses import Bech32Prefixes, contract_address, predictable_contract_address
from leasehold.core.settings import Identity
from leasehold.devnet.contracts.build import PlatformBuild
from leasehold.devnet.genesis.networks import OSMOSIS
from leasehold.devnet.genesis.protocols import PROTOCOLS, ProtocolSpec
from leasehold.devnet.wasm.contract import Contract

PLATFORM = ("timealarms", "treasury", "admin")
PARTS = ("lpp", "oracle", "profit", "reserve", "leaser")
HOUR_NS = 3600 * 10**9
RECALCULATION_NS = 5 * 24 * HOUR_NS
DUE_PERIOD_NS = 30 * 24 * HOUR_NS
BARS = (
    (0, 150), (500, 140), (1000, 130), (2000, 120), (3000, 110), (4000, 100), (5000, 90), (7500, 80), (10000, 70),
    (15000, 60), (20000, 50), (25000, 40), (30000, 30), (40000, 20),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Code:
    """A program under its code id; the id is its place in the list, from 1."""

    name: str
    program: Contract

    @property
    def checksum(self) -> bytes:
        """What stands for the hash of the bytecode: the same for the same program of the same identity."""
        return sha256(f"leasehold native contract {self.name}".encode()).digest()


@dataclass(frozen=True, slots=True)
class ProtocolAddresses:
    """Where a protocol's contracts are."""

    lpp: str
    oracle: str
    profit: str
    reserve: str
    leaser: str


class Deployment:
    """The contracts of one identity."""

    def __init__(self, identity: Identity, protocols: tuple[ProtocolSpec, ...] = PROTOCOLS) -> None:
        self.identity = identity
        self.protocols = protocols
        self.builds = {spec.name: spec.build(identity) for spec in protocols}
        self._prefixes = Bech32Prefixes(identity.prefix)
        self._addresses: dict[str, ProtocolAddresses] = {}
        self.codes = tuple(self._codes())
        self._ids = {code.name: number for number, code in enumerate(self.codes, 1)}
        self.platform = {
            name: self._prefixes.account_text(contract_address(self._ids[name], number))
            for number, name in enumerate(PLATFORM, 1)
        }

    def _codes(self) -> list[Code]:
        from leasehold.devnet.contracts.admin import Admin
        from leasehold.devnet.contracts.lease import Lease
        from leasehold.devnet.contracts.leaser import Leaser
        from leasehold.devnet.contracts.lpp import Lpp
        from leasehold.devnet.contracts.oracle import Oracle
        from leasehold.devnet.contracts.profit import Profit
        from leasehold.devnet.contracts.reserve import Reserve
        from leasehold.devnet.contracts.timealarms import TimeAlarms
        from leasehold.devnet.contracts.treasury import Treasury
        from leasehold.devnet.contracts.void import Void

        platform = PlatformBuild(OSMOSIS.native(self.identity))
        codes = [
            Code("timealarms", TimeAlarms(platform)),
            Code("treasury", Treasury(platform)),
            Code("admin", Admin(platform)),
        ]
        kinds: dict[str, Any] = {
            "lease": Lease, "lpp": Lpp, "oracle": Oracle, "profit": Profit, "reserve": Reserve, "leaser": Leaser,
            "void": Void,
        }  # fmt: skip
        for spec in self.protocols:
            build = self.builds[spec.name]
            codes += [Code(f"{spec.name}/{kind}", make(build)) for kind, make in kinds.items()]
        return codes

    def code_id(self, protocol: str, kind: str) -> int:
        return self._ids[f"{protocol}/{kind}"]

    def addresses(self, protocol: str) -> ProtocolAddresses:
        """Addresses of a protocol's contracts."""
        if protocol not in self._addresses:
            self._addresses[protocol] = self._derived(protocol)
        return self._addresses[protocol]

    def _derived(self, protocol: str) -> ProtocolAddresses:
        creator = self._prefixes.account_bytes(self.platform["admin"])
        found = {}
        for part in PARTS:
            code = self.codes[self.code_id(protocol, part) - 1]
            raw = predictable_contract_address(code.checksum, creator, protocol.encode())
            found[part] = self._prefixes.account_text(raw)
        return ProtocolAddresses(**found)

    def document(self, *, deployer: str, feeders: tuple[str, ...]) -> dict[str, Any]:
        """The wasm module's part of genesis: codes, then operations in order."""
        operations: list[dict[str, Any]] = [
            _instantiate(self._ids["timealarms"], deployer, "timealarms", {}),
            _instantiate(self._ids["treasury"], deployer, "treasury", self._treasury()),
            _instantiate(self._ids["admin"], deployer, "admin", self._admin(deployer)),
        ]
        for spec in self.protocols:
            operations += self._protocol(spec, deployer, feeders)
        return {
            "codes": [{"name": code.name, "checksum": code.checksum.hex(), "creator": deployer} for code in self.codes],
            "operations": operations,
        }

    def _treasury(self) -> dict[str, Any]:
        return {
            "cadence_hours": 12,
            "protocols_registry": self.platform["admin"],
            "timealarms": self.platform["timealarms"],
            "tvl_to_apr": {"bars": [{"tvl": tvl, "apr": apr} for tvl, apr in BARS]},
        }

    def _admin(self, deployer: str) -> dict[str, Any]:
        platform = {"timealarms": self.platform["timealarms"], "treasury": self.platform["treasury"]}
        return {"dex_admin": deployer, "contracts": {"platform": platform, "protocol": {}}}

    def _protocol(self, spec: ProtocolSpec, deployer: str, feeders: tuple[str, ...]) -> list[dict[str, Any]]:
        at = self.addresses(spec.name)
        messages = self.instantiations(spec, deployer)
        operations = []
        for part in PARTS:
            content = {
                "code_id": str(self.code_id(spec.name, part)),
                "expected_address": getattr(at, part),
                "protocol": spec.name,
                "label": f"{spec.name}-{part}",
                "message": json.dumps(messages[part], separators=(",", ":")),
            }
            operations.append(_execute(self.platform["admin"], deployer, {"instantiate": content}))
        contracts = {part: getattr(at, part) for part in ("leaser", "lpp", "oracle", "profit", "reserve")}
        registered = {"network": spec.network.name, "dex": spec.network.dex, "contracts": contracts}
        message = {"register_protocol": {"name": spec.name, "protocol": registered}}
        operations.append(_execute(self.platform["admin"], deployer, message))
        operations += [
            {"sudo": {"contract": at.oracle, "msg": {"register_feeder": {"feeder_address": feeder}}}}
            for feeder in feeders
        ]
        return operations

    def instantiations(self, spec: ProtocolSpec, lease_admin: str) -> dict[str, dict[str, Any]]:
        """Instantiation messages of a protocol's contracts, by part."""
        at = self.addresses(spec.name)
        lease_code = str(self.code_id(spec.name, "lease"))
        network = spec.network
        dex = {
            "connection_id": network.connection,
            "transfer_channel": {"local_endpoint": network.channel, "remote_endpoint": network.remote_channel},
        }
        terms = spec.terms
        return {
            "lpp": {
                "protocol_admin": at.leaser,
                "lease_code": lease_code,
                "borrow_rate": {
                    "base_interest_rate": terms.base,
                    "utilization_optimal": terms.optimal,
                    "addon_optimal_interest_rate": terms.addon,
                },
                "min_utilization": terms.min_utilization,
            },
            "oracle": {
                "config": {
                    "price_config": {
                        "min_feeders": 500,
                        "sample_period_secs": 50,
                        "samples_number": 12,
                        "discount_factor": 650,
                    }
                },
                "swap_tree": spec.swap_tree(self.identity),
            },
            "profit": {
                "cadence_hours": 12,
                "treasury": self.platform["treasury"],
                "oracle": at.oracle,
                "timealarms": self.platform["timealarms"],
                "dex": dex,
            },
            "reserve": {"protocol_admin": at.leaser, "lease_code": lease_code},
            "leaser": {
                "lease_code": lease_code,
                "lpp": at.lpp,
                "profit": at.profit,
                "reserve": at.reserve,
                "time_alarms": self.platform["timealarms"],
                "market_price_oracle": at.oracle,
                "protocols_registry": self.platform["admin"],
                "lease_position_spec": {
                    "liability": {
                        "initial": 600,
                        "healthy": 830,
                        "first_liq_warn": 850,
                        "second_liq_warn": 865,
                        "third_liq_warn": 880,
                        "max": 900,
                        "recalc_time": RECALCULATION_NS,
                    },
                    "min_asset": {"amount": str(spec.min_asset), "ticker": spec.lpn},
                    "min_transaction": {"amount": str(spec.min_transaction), "ticker": spec.lpn},
                },
                "lease_interest_rate_margin": terms.margin,
                "lease_due_period": DUE_PERIOD_NS,
                "lease_max_slippages": {"liquidation": 300},
                "lease_admin": lease_admin,
                "dex": dex,
            },
        }


def _instantiate(code_id: int, sender: str, label: str, msg: dict[str, Any]) -> dict[str, Any]:
    return {"instantiate": {"code_id": code_id, "sender": sender, "label": label, "msg": msg}}


def _execute(contract: str, sender: str, msg: dict[str, Any]) -> dict[str, Any]:
    return {"execute": {"contract": contract, "sender": sender, "msg": msg}}
