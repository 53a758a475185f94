"""The genesis document: what a chain starts from, in the application's and in CometBFT's form."""

from __future__ import annotations

import re
from base64 import b64decode
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from leasehold.chain.comet import rendering
from leasehold.chain.comet.validators import address_of
from leasehold.core.clock import parse_rfc3339
from leasehold.core.errors import ConfigurationError
from leasehold.devnet.app.abci import ConsensusParams, InitChain, ValidatorUpdate

_BLANK = re.compile(rb'("(?:[^"\\]|\\.)*")|[ \t\r\n]+')


def compacted(document: bytes) -> bytes:
    """JSON without blanks between tokens, otherwise byte for byte."""
    return _BLANK.sub(lambda found: found.group(1) or b"", document)


@dataclass(frozen=True)
class Genesis:
    """A chain's beginning; `app_state` is compact JSON."""

    chain_id: str
    time_ns: int
    app_state: bytes
    params: ConsensusParams = field(default_factory=ConsensusParams)
    validators: tuple[ValidatorUpdate, ...] = ()
    initial_height: int = 1
    app_hash: bytes = b""

    @classmethod
    def parse(cls, document: bytes) -> Genesis:
        """Read a genesis file as the application writes it (`consensus`) or as CometBFT does (`consensus_params`)."""
        try:
            members = msgspec.json.decode(document, type=dict[str, msgspec.Raw])
            plain = {
                name: msgspec.json.decode(raw) for name, raw in members.items() if name not in ("app_state", "genesis")
            }
            consensus = plain.get("consensus") or {}
            params = consensus.get("params") or plain.get("consensus_params") or {}
            validators = consensus.get("validators") or plain.get("validators") or []
            return cls(
                chain_id=plain["chain_id"],
                time_ns=parse_rfc3339(plain["genesis_time"]),
                app_state=compacted(bytes(members.get("app_state", b"{}"))),
                params=read_params(params),
                validators=tuple(
                    ValidatorUpdate(b64decode(entry["pub_key"]["value"]), int(entry["power"])) for entry in validators
                ),
                initial_height=int(plain.get("initial_height") or 1) or 1,
            )
        except (KeyError, TypeError, ValueError, msgspec.MsgspecError) as error:
            raise ConfigurationError(
                f"not a genesis document: {error}", hint="give the genesis.json of a chain of this family"
            ) from None

    @classmethod
    def load(cls, path: Path) -> Genesis:
        return cls.parse(path.read_bytes())

    def request(self) -> InitChain:
        return InitChain(self.chain_id, self.time_ns, self.initial_height, self.app_state, self.params, self.validators)

    @cached_property
    def document(self) -> bytes:
        """CometBFT's form as compact JSON, what `genesis` answers."""
        head: dict[str, Any] = {
            "genesis_time": rendering.time(self.time_ns),
            "chain_id": self.chain_id,
            "initial_height": str(self.initial_height),
            "consensus_params": render_params(self.params),
        }
        if self.validators:
            head["validators"] = [
                {
                    "address": rendering.hexadecimal(address_of(entry.public_key)),
                    "pub_key": rendering.public_key(entry.public_key),
                    "power": str(entry.power),
                    "name": "",
                }
                for entry in self.validators
            ]
        head["app_hash"] = rendering.hexadecimal(self.app_hash)
        head["app_state"] = msgspec.Raw(self.app_state)
        return msgspec.json.encode(head)


def read_params(document: dict[str, Any]) -> ConsensusParams:
    """Consensus parameters from their JSON; what is missing takes its default."""
    default = ConsensusParams()
    block, evidence = document.get("block") or {}, document.get("evidence") or {}
    return ConsensusParams(
        block_max_bytes=int(block.get("max_bytes", default.block_max_bytes)),
        block_max_gas=int(block.get("max_gas", default.block_max_gas)),
        evidence_max_age_blocks=int(evidence.get("max_age_num_blocks", default.evidence_max_age_blocks)),
        evidence_max_age_ns=int(evidence.get("max_age_duration", default.evidence_max_age_ns)),
        evidence_max_bytes=int(evidence.get("max_bytes", default.evidence_max_bytes)),
        pub_key_types=tuple((document.get("validator") or {}).get("pub_key_types", default.pub_key_types)),
        app_version=int((document.get("version") or {}).get("app", 0) or 0),
        vote_extensions_enable_height=int((document.get("abci") or {}).get("vote_extensions_enable_height", 0) or 0),
    )


def render_params(params: ConsensusParams, *, zeros: bool = True) -> dict[str, Any]:
    """Consensus parameters as JSON; block results leave zero members out (`zeros=False`)."""
    version = {"app": str(params.app_version)} if zeros or params.app_version else {}
    extensions = params.vote_extensions_enable_height
    return {
        "block": {"max_bytes": str(params.block_max_bytes), "max_gas": str(params.block_max_gas)},
        "evidence": {
            "max_age_num_blocks": str(params.evidence_max_age_blocks),
            "max_age_duration": str(params.evidence_max_age_ns),
            "max_bytes": str(params.evidence_max_bytes),
        },
        "validator": {"pub_key_types": list(params.pub_key_types)},
        "version": version,
        "abci": {"vote_extensions_enable_height": str(extensions)} if zeros or extensions else {},
    }
