"""transfer: coins to accounts of other chains, and where voucher denoms come from."""

from __future__ import annotations

import re
from typing import Any

from leasehold.chain.go_hex import decode_hex
from leasehold.chain.registry import Registry
from leasehold.core.addresses import escrow_address, ibc_denom
from leasehold.core.errors import InvalidInput
from leasehold.core.settings import Identity
from leasehold.devnet.app.coins import Coin, denom_valid
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import ChainError, Kind, PlainError, Status, StatusError, undefined
from leasehold.devnet.app.module import Module, answers, handles, validates
from leasehold.devnet.app.pagination import page_of
from leasehold.devnet.modules.ibc import identifiers
from leasehold.devnet.modules.ibc.errors import WRONG_CHANNEL_STATE
from leasehold.devnet.modules.ibc.handshake_checks import OPEN, state_of
from leasehold.devnet.modules.participants import Participants
from leasehold.devnet.state.store import prefix_end

_PACKAGE = "ibc.applications.transfer.v1."
_QUERY = _PACKAGE + "Query/"
# The chain's own wrapper of the module repeats its queries, on the same routes.
_OWN = "{ns}.transfer."
_OWN_QUERY = _OWN + "Query/"
_PARAMS = b"transfer/params"
_DENOM = b"transfer/d/"
_DIGEST = 32
# Ports are followed by channels, or by clients where there are none.
_HOP = re.compile(r"\w+([\w-]+\w)?-[0-9]{1,20}", re.ASCII)
_MAX_RECEIVER = 2048
_MAX_MEMO = 32_768

UNAUTHORIZED = Kind("ibc", 2, "unauthorized")
INVALID_ADDRESS = Kind("ibc", 5, "invalid address")
INVALID_COINS = Kind("ibc", 6, "invalid coins")
SEND_DISABLED = Kind("transfer", 7, "fungible token transfers from this chain are disabled")
INVALID_DENOM = Kind("transfer", 3, "invalid denomination for cross-chain transfer")
DENOM_NOT_FOUND = Kind("transfer", 6, "denomination not found")
INVALID_MEMO = Kind("transfer", 11, "invalid memo")
SEQUENCE_NOT_FOUND = Kind("channel", 10, "sequence send not found")
INVALID_PACKET = Kind("channel", 13, "invalid packet")
TIMEOUT_ELAPSED = Kind("channel", 40, "timeout elapsed")


class Transfer(Module):
    """ICS-20."""

    name = "transfer"

    def __init__(self, identity: Identity, registry: Registry) -> None:
        super().__init__(identity, registry)
        self.participants = Participants(self.prefixes)

    def init_genesis(self, ctx: Context, state: dict[str, Any]) -> None:
        document = state.get("params", {"send_enabled": True, "receive_enabled": True})
        self._set_params(ctx, self.from_json(_PACKAGE + "Params", document))
        for entry in state.get("denoms", []):
            denom = self.from_json(_PACKAGE + "Denom", entry)
            ctx.store.set(_DENOM + ibc_denom(_path(denom)).encode(), denom.SerializeToString())

    def params(self, ctx: Context) -> Any:
        return self.read(ctx, _PARAMS, _PACKAGE + "Params")

    def _set_params(self, ctx: Context, params: Any) -> None:
        ctx.store.set(_PARAMS, params.SerializeToString())

    def denoms(self, ctx: Context) -> dict[str, Any]:
        """Vouchers known here with their traces: of genesis, and of the simulated chains."""
        kind: Any = self.registry.type(_PACKAGE + "Denom")
        stored = ctx.store.iterate(_DENOM, prefix_end(_DENOM))
        found = {key[len(_DENOM) :].decode(): kind.FromString(data) for key, data in stored}
        for network in self.modules.interchain.networks(ctx).networks:
            for here, there in network.denoms.items():
                if here not in found and here == ibc_denom(f"transfer/{network.channel}/{there}"):
                    found[here] = self._denom(there, network.channel)
        return found

    def _denom(self, base: str, channel: str) -> Any:
        denom = self.new(_PACKAGE + "Denom", base=base)
        denom.trace.add(port_id="transfer", channel_id=channel)
        return denom

    # Messages.

    @validates(_PACKAGE + "MsgTransfer")
    def validate_transfer(self, msg: Any) -> None:
        for kind, text in (("port", msg.source_port), ("channel", msg.source_channel)):
            try:
                identifiers.check(kind, text)
            except ChainError as error:
                raise error.wrap(f"invalid source {kind} ID {text}") from None
        if int(msg.token.amount or "0") <= 0 or not denom_valid(msg.token.denom) or _is_bad_voucher(msg.token.denom):
            raise INVALID_COINS(f"{msg.token.amount}{msg.token.denom}")
        if not msg.sender.strip():
            raise INVALID_ADDRESS("missing sender address")
        if not msg.receiver.strip():
            raise INVALID_ADDRESS("missing recipient address")
        if len(msg.receiver.encode()) > _MAX_RECEIVER:
            raise INVALID_ADDRESS(f"recipient address must not exceed {_MAX_RECEIVER} bytes")
        if len(msg.memo.encode()) > _MAX_MEMO:
            raise INVALID_MEMO(f"memo must not exceed {_MAX_MEMO} bytes")

    @handles(_PACKAGE + "MsgTransfer")
    def handle_transfer(self, ctx: Context, msg: Any) -> Any:
        return self.new(_PACKAGE + "MsgTransferResponse", sequence=self._transfer(ctx, msg))

    @handles(_OWN + "MsgTransfer")
    def handle_own_transfer(self, ctx: Context, msg: Any) -> Any:
        try:
            self.validate_transfer(msg)
        except ChainError as error:
            raise error.wrap("failed to validate MsgTransfer") from None
        sequence = self._transfer(ctx, msg)
        return self.new(_OWN + "MsgTransferResponse", sequence_id=sequence, channel=msg.source_channel)

    def _transfer(self, ctx: Context, msg: Any) -> int:
        """Send a coin away and return the packet's sequence."""
        channel = self.modules.ibc.channel(ctx, msg.source_port, msg.source_channel)
        if channel is None:
            raise SEQUENCE_NOT_FOUND(f"source port: {msg.source_port}, source channel: {msg.source_channel}")
        if not self.params(ctx).send_enabled:
            raise ChainError(SEND_DISABLED)
        try:
            self.participants.queried_account(msg.sender)
        except PlainError as error:
            raise undefined(str(error)) from None
        token = Coin(msg.token.denom, int(msg.token.amount))
        self.modules.bank.require_enabled(ctx, (token,))
        if channel.state != OPEN:
            raise WRONG_CHANNEL_STATE(f"channel is not OPEN (got {state_of(channel)})")
        self._check_timeout(ctx, msg)
        sequence: int = self.modules.interchain.send(
            ctx, msg.sender, token, msg.source_channel, msg.receiver, msg.timeout_timestamp, msg.memo
        )
        return sequence

    def _check_timeout(self, ctx: Context, msg: Any) -> None:
        if not msg.timeout_timestamp and not msg.timeout_height.revision_height:
            raise INVALID_PACKET(
                "constructed packet failed basic validation: "
                "packet timeout height and packet timeout timestamp cannot both be 0"
            )
        if msg.timeout_timestamp and msg.timeout_timestamp <= ctx.block.time_ns:
            raise TIMEOUT_ELAPSED(
                f"invalid packet timeout: current timestamp: {ctx.block.time_ns}, "
                f"timeout timestamp {msg.timeout_timestamp}"
            )

    @handles(_PACKAGE + "MsgUpdateParams")
    def handle_update_params(self, ctx: Context, msg: Any) -> Any:
        self._update(ctx, msg)
        return self.new(_PACKAGE + "MsgUpdateParamsResponse")

    @handles(_OWN + "MsgUpdateParams")
    def handle_own_update_params(self, ctx: Context, msg: Any) -> Any:
        self._update(ctx, msg)
        return self.new(_OWN + "MsgUpdateParamsResponse")

    def _update(self, ctx: Context, msg: Any) -> None:
        if msg.signer != self.modules.gov.authority:
            raise UNAUTHORIZED(f"expected {self.modules.gov.authority}, got {msg.signer}")
        self._set_params(ctx, msg.params)

    # Queries.

    @answers(_OWN_QUERY + "Params")
    @answers(_QUERY + "Params")
    def query_params(self, ctx: Context, request: Any) -> Any:
        return self.new(_PACKAGE + "QueryParamsResponse", params=self.params(ctx))

    @answers(_OWN_QUERY + "Denoms")
    @answers(_QUERY + "Denoms")
    def query_denoms(self, ctx: Context, request: Any) -> Any:
        known = sorted(self.denoms(ctx).items())
        items, result = page_of(
            ((bytes.fromhex(name.removeprefix("ibc/")), denom) for name, denom in known), request.pagination
        )
        # Pages are cut by hash, and each is then put in order.
        items.sort(key=lambda denom: (denom.base, len(denom.trace), _path(denom)))
        return self.new(_PACKAGE + "QueryDenomsResponse", denoms=items, pagination=self.page_response(result))

    @answers(_OWN_QUERY + "Denom")
    @answers(_QUERY + "Denom")
    def query_denom(self, ctx: Context, request: Any) -> Any:
        fault = ""
        try:
            digest = decode_hex(request.hash.removeprefix("ibc/"))
            if len(digest) not in (0, _DIGEST):
                fault = f"expected size to be {_DIGEST} bytes, got {len(digest)} bytes"
        except InvalidInput as error:
            fault = error.message
        if fault:
            raise StatusError(Status.INVALID_ARGUMENT, f"invalid denom trace hash: , error: {fault}")
        found = self.denoms(ctx).get("ibc/" + digest.hex().upper())
        if found is None:
            raise StatusError(Status.NOT_FOUND, f"{request.hash}: {DENOM_NOT_FOUND.description}")
        return self.new(_PACKAGE + "QueryDenomResponse", denom=found)

    @answers(_OWN_QUERY + "DenomHash")
    @answers(_QUERY + "DenomHash")
    def query_denom_hash(self, ctx: Context, request: Any) -> Any:
        if not _base(request.trace).strip():
            raise StatusError(Status.INVALID_ARGUMENT, INVALID_DENOM("base denomination cannot be blank").log)
        name = ibc_denom(request.trace)
        if name not in self.denoms(ctx):
            raise StatusError(Status.NOT_FOUND, DENOM_NOT_FOUND(request.trace).log)
        return self.new(_PACKAGE + "QueryDenomHashResponse", hash=name.removeprefix("ibc/"))

    @answers(_QUERY + "EscrowAddress")
    def query_escrow_address(self, ctx: Context, request: Any) -> Any:
        identifiers.check_queried("port", request.port_id)
        identifiers.check_queried("channel", request.channel_id)
        if self.modules.ibc.channel(ctx, request.port_id, request.channel_id) is None:
            text = f"port ID ({request.port_id}) channel ID ({request.channel_id})"
            raise StatusError(Status.NOT_FOUND, f"{text}: channel not found")
        address = self.prefixes.account_text(escrow_address(request.port_id, request.channel_id))
        return self.new(_PACKAGE + "QueryEscrowAddressResponse", escrow_address=address)

    @answers(_QUERY + "TotalEscrowForDenom")
    def query_total_escrow(self, ctx: Context, request: Any) -> Any:
        if not denom_valid(request.denom):
            raise StatusError(Status.INVALID_ARGUMENT, f"invalid denom: {request.denom}")
        total = sum(
            self.modules.bank.balance(ctx, escrow_address(channel.port_id, channel.channel_id), request.denom)
            for channel in self.modules.ibc.channels(ctx)
        )
        amount = self.coin(Coin(request.denom, total))
        return self.new(_PACKAGE + "QueryTotalEscrowForDenomResponse", amount=amount)


def _path(denom: Any) -> str:
    return "/".join([part for hop in denom.trace for part in (hop.port_id, hop.channel_id)] + [denom.base])


def _base(path: str) -> str:
    """The denom at the end of a path, after its hops."""
    parts = path.split("/")
    if len(parts) == 2:
        return path
    while len(parts) > 1 and _HOP.fullmatch(parts[1]) is not None:
        parts = parts[2:]
    return "/".join(parts)


def _is_bad_voucher(denom: str) -> bool:
    """Whether a denom begins as a voucher's without the digest that has to follow."""
    head, _, digest = denom.partition("/")
    return head == "ibc" and re.fullmatch(r"[0-9A-Fa-f]{64}", digest) is None
