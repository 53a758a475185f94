"""slashing: who signs, who misses too many blocks, jail and the way out of it."""

from __future__ import annotations

from typing import Any

from leasehold.chain.registry import Registry
from leasehold.core import fixed_point
from leasehold.core.settings import Identity
from leasehold.devnet.app.abci import VoteInfo
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import ChainError, Kind, Status, StatusError
from leasehold.devnet.app.module import Module, answers, handles
from leasehold.devnet.app.pagination import page
from leasehold.devnet.modules.instants import duration, instant, set_instant
from leasehold.devnet.modules.parameter_rules import check_slashing
from leasehold.devnet.modules.participants import Participants
from leasehold.devnet.modules.staking.errors import NO_DELEGATION
from leasehold.devnet.modules.staking.ledger import sized
from leasehold.devnet.modules.staking.shares import tokens_from_shares

_PACKAGE = "cosmos.slashing.v1beta1."
_QUERY = _PACKAGE + "Query/"
_PARAMS = b"slashing/params"
_INFO = b"slashing/i/"
_MISSED = b"slashing/m/"

ABSENT = 1
# A set decided in a block signs two blocks later; the stake that missed is the one of before.
_UPDATE_DELAY = 1
# The end of the year 9999: out of jail never.
FOREVER_NS = 253_402_300_799 * 10**9

STILL_JAILED = Kind("slashing", 4, "validator still jailed; cannot be unjailed")
NOT_JAILED = Kind("slashing", 5, "validator not jailed; cannot be unjailed")
SELF_DELEGATION_TOO_LOW = Kind("slashing", 7, "validator's self delegation less than minimum; cannot be unjailed")


class Slashing(Module):
    """Liveness and punishment."""

    name = "slashing"

    def __init__(self, identity: Identity, registry: Registry) -> None:
        super().__init__(identity, registry)
        self.participants = Participants(self.prefixes)

    def init_genesis(self, ctx: Context, state: dict[str, Any]) -> None:
        self._set_params(ctx, self.from_json(_PACKAGE + "Params", state["params"]))
        for entry in state.get("signing_infos", []):
            info = self.from_json(_PACKAGE + "ValidatorSigningInfo", entry["validator_signing_info"])
            self.save_info(ctx, self.participants.queried_consensus(entry["address"]), info)
        for entry in state.get("missed_blocks", []):
            address = self.participants.queried_consensus(entry["address"])
            for block in entry["missed_blocks"]:
                if block["missed"]:
                    ctx.store.set(_missed_key(address, int(block.get("index", 0))), b"")

    def params(self, ctx: Context) -> Any:
        return self.read(ctx, _PARAMS, _PACKAGE + "Params")

    def _set_params(self, ctx: Context, params: Any) -> None:
        ctx.store.set(_PARAMS, params.SerializeToString())

    def find_info(self, ctx: Context, consensus: bytes) -> Any:
        data = ctx.store.get(_INFO + sized(consensus))
        return None if data is None else self.registry.parse(_PACKAGE + "ValidatorSigningInfo", data)

    def save_info(self, ctx: Context, consensus: bytes, info: Any) -> None:
        ctx.store.set(_INFO + sized(consensus), info.SerializeToString())

    def after_validator_bonded(self, ctx: Context, consensus: bytes) -> None:
        """Count missed blocks from here on."""
        info = self.find_info(ctx, consensus)
        if info is None:
            info = self.new(_PACKAGE + "ValidatorSigningInfo", address=self.prefixes.consensus_text(consensus))
            set_instant(info.jailed_until, 0)
        info.start_height = ctx.block.height
        self.save_info(ctx, consensus, info)

    def begin_block(self, ctx: Context) -> None:
        params = self.params(ctx)
        for vote in ctx.block.commit:
            self._note(ctx, vote, params)

    def _note(self, ctx: Context, vote: VoteInfo, params: Any) -> None:
        """Count a signature or its absence, and jail who was absent too often."""
        staking = self.modules.staking
        validator = staking.seen_by_consensus(ctx, vote.address)
        info = self.find_info(ctx, vote.address)
        if validator is None or validator.jailed or info is None:
            return
        window = params.signed_blocks_window
        key = _missed_key(vote.address, info.index_offset % window)
        info.index_offset += 1
        before = ctx.store.get(key) is not None
        missed = vote.flag == ABSENT
        if missed and not before:
            ctx.store.set(key, b"")
            info.missed_blocks_counter += 1
        elif before and not missed:
            ctx.store.delete(key)
            info.missed_blocks_counter -= 1
        if missed:
            ctx.emit(
                "liveness",
                ("address", info.address),
                ("missed_blocks", str(info.missed_blocks_counter)),
                ("height", str(ctx.block.height)),
            )
        least = fixed_point.round_to_integer(int(params.min_signed_per_window or "0") * window)
        if ctx.block.height > info.start_height + window and info.missed_blocks_counter > window - least:
            self._punish_absence(ctx, vote, info, params)
        self.save_info(ctx, vote.address, info)

    def _punish_absence(self, ctx: Context, vote: VoteInfo, info: Any, params: Any) -> None:
        staking = self.modules.staking
        height = ctx.block.height - _UPDATE_DELAY - 1
        fraction = int(params.slash_fraction_downtime or "0")
        burned = staking.slash(ctx, vote.address, height, vote.power, fraction)
        ctx.emit(
            "slash",
            ("address", info.address),
            ("power", str(vote.power)),
            ("reason", "missing_signature"),
            ("jailed", info.address),
            ("burned_coins", str(burned)),
        )
        staking.jail(ctx, vote.address)
        set_instant(info.jailed_until, ctx.block.time_ns + duration(params.downtime_jail_duration))
        info.missed_blocks_counter = 0
        info.index_offset = 0
        prefix = _MISSED + sized(vote.address)
        for key in [key for key, _ in ctx.store.iterate(prefix, prefix + b"\xff" * 9)]:
            ctx.store.delete(key)

    def punish_double_sign(self, ctx: Context, consensus: bytes, height: int, power: int) -> None:
        """Slash for signing twice and jail for ever."""
        address = self.prefixes.consensus_text(consensus)
        fraction = int(self.params(ctx).slash_fraction_double_sign or "0")
        burned = self.modules.staking.slash(ctx, consensus, height - _UPDATE_DELAY, power, fraction)
        ctx.emit(
            "slash",
            ("address", address),
            ("power", str(power)),
            ("reason", "double_sign"),
            ("burned_coins", str(burned)),
        )
        validator = self.modules.staking.find_by_consensus(ctx, consensus)
        if not validator.jailed:
            self.modules.staking.jail(ctx, consensus)
            ctx.emit("slash", ("jailed", address))
        info = self.find_info(ctx, consensus)
        set_instant(info.jailed_until, FOREVER_NS)
        info.tombstoned = True
        self.save_info(ctx, consensus, info)

    @handles(_PACKAGE + "MsgUnjail")
    def handle_unjail(self, ctx: Context, msg: Any) -> Any:
        operator = self.participants.operator(msg.validator_addr, "validator input address: ")
        staking = self.modules.staking
        # What is missing is missed by the staking module, before this one could say so in its own words.
        validator = staking.validator(ctx, operator)
        own = staking.find_delegation(ctx, operator, operator)
        if own is None:
            raise ChainError(NO_DELEGATION)
        stake = fixed_point.truncate(tokens_from_shares(validator, int(own.shares)))
        if int(validator.min_self_delegation) > stake:
            raise SELF_DELEGATION_TOO_LOW(f"{stake} less than {validator.min_self_delegation}")
        if not validator.jailed:
            raise ChainError(NOT_JAILED)
        consensus = staking.consensus_address(validator)
        info = self.find_info(ctx, consensus)
        if info is not None and (info.tombstoned or ctx.block.time_ns < instant(info.jailed_until)):
            raise ChainError(STILL_JAILED)
        staking.unjail(ctx, consensus)
        return self.new(_PACKAGE + "MsgUnjailResponse")

    @handles(_PACKAGE + "MsgUpdateParams")
    def handle_update_params(self, ctx: Context, msg: Any) -> Any:
        self.modules.gov.require_authority(msg.authority)
        check_slashing(msg.params)
        self._set_params(ctx, msg.params)
        return self.new(_PACKAGE + "MsgUpdateParamsResponse")

    @answers(_QUERY + "Params")
    def query_params(self, ctx: Context, request: Any) -> Any:
        return self.new(_PACKAGE + "QueryParamsResponse", params=self.params(ctx))

    @answers(_QUERY + "SigningInfo")
    def query_signing_info(self, ctx: Context, request: Any) -> Any:
        if not request.cons_address:
            raise StatusError(Status.INVALID_ARGUMENT, "invalid request")
        info = self.find_info(ctx, self.participants.queried_consensus(request.cons_address))
        if info is None:
            raise StatusError(Status.NOT_FOUND, f"SigningInfo not found for validator {request.cons_address}")
        return self.new(_PACKAGE + "QuerySigningInfoResponse", val_signing_info=info)

    @answers(_QUERY + "SigningInfos")
    def query_signing_infos(self, ctx: Context, request: Any) -> Any:
        kind: Any = self.registry.type(_PACKAGE + "ValidatorSigningInfo")
        items, result = page(ctx, _INFO, request.pagination, lambda _, data: kind.FromString(data))
        return self.new(_PACKAGE + "QuerySigningInfosResponse", info=items, pagination=self.page_response(result))


def _missed_key(address: bytes, index: int) -> bytes:
    return _MISSED + sized(address) + index.to_bytes(8, "big")
