"""Messages about light clients: they are created and administered; no header or proof of a simulated chain holds."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import DecodeError

from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import Kind
from leasehold.devnet.app.module import handles, validates
from leasehold.devnet.modules.ibc import errors
from leasehold.devnet.modules.ibc.identifiers import INVALID_IDENTIFIER, check, is_numbered_client, revision
from leasehold.devnet.modules.ibc.second_version import SecondVersion
from leasehold.devnet.modules.ibc.tables import CLIENT_V1, LOCALHOST_CLIENT, TENDERMINT

_CREATOR = b"ibc/creator/"
_KIND = "07-tendermint"
_LONGEST_CHAIN_ID = 50


def _refusal(code: int, description: str) -> Kind:
    return Kind(_KIND, code, description)


class LightClients(SecondVersion):
    """Handlers of messages about clients."""

    def client_status(self, ctx: Context, client_id: str) -> str:
        """What a client is good for: only those that are known can be built on."""
        if client_id == LOCALHOST_CLIENT:
            return "Active"
        if not is_numbered_client(client_id):
            return "Unauthorized"
        return "Active" if self.client(ctx, client_id) is not None else "Unknown"

    def require_active(self, ctx: Context, client_id: str, form: str = "client ({}) status is {}") -> None:
        status = self.client_status(ctx, client_id)
        if status != "Active":
            raise errors.CLIENT_NOT_ACTIVE(form.format(client_id, status))

    def require_proof(self, ctx: Context, client_id: str, height: Any, proof: bytes) -> None:
        """Refuse a proof: as far as it can be read, no state of the other chain is known that it could be true of."""
        self.require_active(ctx, client_id, "cannot call verify membership on client ({}) with status {}")
        state = self.registry.unpack(self.client(ctx, client_id).client_state)
        latest = (state.latest_height.revision_number, state.latest_height.revision_height)
        asked = (height.revision_number, height.revision_height)
        if latest < asked:
            shown = f"{latest[0]}-{latest[1]} < {asked[0]}-{asked[1]}"
            text = f"client state height < proof height ({shown}), please ensure the client has been updated"
            raise errors.INVALID_HEIGHT(text)
        try:
            self.registry.type("ibc.core.commitment.v1.MerkleProof").FromString(proof)
        except DecodeError:
            raise errors.INVALID_PROOF("failed to unmarshal proof into ICS 23 commitment merkle proof") from None
        text = "please ensure the proof was constructed against a height that exists on the client"
        raise errors.NO_CONSENSUS_STATE(text)

    def _unpacked(self, msg: Any, field: str, what: str, suffix: str) -> Any:
        if not msg.HasField(field):
            raise errors.UNPACK_ANY("protobuf Any message cannot be nil")
        packed = getattr(msg, field)
        name = packed.type_url.rpartition("/")[2]
        if not name.endswith(suffix) or not name.startswith("ibc.lightclients."):
            raise errors.UNPACK_ANY(f"cannot unpack Any into {what} *types.Any")
        return self.registry.unpack(packed)

    def _states(self, msg: Any) -> tuple[Any, Any]:
        state = self._unpacked(msg, "client_state", "ClientState", ".ClientState")
        return state, self._unpacked(msg, "consensus_state", "ConsensusState", ".ConsensusState")

    @validates(CLIENT_V1 + "MsgCreateClient")
    def validate_create_client(self, msg: Any) -> None:
        state = self._unpacked(msg, "client_state", "ClientState", ".ClientState")
        if state.DESCRIPTOR.full_name == TENDERMINT + "ClientState":
            _check_state(state)
        consensus = self._unpacked(msg, "consensus_state", "ConsensusState", ".ConsensusState")
        if state.DESCRIPTOR.file.package != consensus.DESCRIPTOR.file.package:
            raise errors.INVALID_CLIENT_TYPE("client type for client state and consensus state do not match")

    @handles(CLIENT_V1 + "MsgCreateClient")
    def handle_create_client(self, ctx: Context, msg: Any) -> Any:
        state, _ = self._states(msg)
        if state.DESCRIPTOR.full_name != TENDERMINT + "ClientState":
            raise errors.INVALID_CLIENT_TYPE(f"cannot create client of type: {LOCALHOST_CLIENT}")
        taken = [found.client_id.rpartition("-") for found in self.clients(ctx)]
        number = max((int(last) for kind, _, last in taken if kind == _KIND), default=-1) + 1
        client_id = f"{_KIND}-{number}"
        self.save_client(ctx, client_id, msg.client_state)
        ctx.store.set(_CREATOR + client_id.encode(), msg.signer.encode())
        height = f"{state.latest_height.revision_number}-{state.latest_height.revision_height}"
        ctx.emit("create_client", ("client_id", client_id), ("client_type", _KIND), ("consensus_height", height))
        ctx.emit("message", ("module", "ibc_client"))
        return self.new(CLIENT_V1 + "MsgCreateClientResponse", client_id=client_id)

    @validates(CLIENT_V1 + "MsgUpdateClient")
    def validate_update_client(self, msg: Any) -> None:
        self._unpacked(msg, "client_message", "Header", "")
        check("client", msg.client_id)

    @handles(CLIENT_V1 + "MsgUpdateClient")
    def handle_update_client(self, ctx: Context, msg: Any) -> Any:
        self._verify(ctx, msg.client_id, self.registry.unpack(msg.client_message))

    @validates(CLIENT_V1 + "MsgSubmitMisbehaviour")
    def validate_misbehaviour(self, msg: Any) -> None:
        self._unpacked(msg, "misbehaviour", "Header", "")
        check("client", msg.client_id)

    @handles(CLIENT_V1 + "MsgSubmitMisbehaviour")
    def handle_misbehaviour(self, ctx: Context, msg: Any) -> Any:
        self._verify(ctx, msg.client_id, self.registry.unpack(msg.misbehaviour))

    def _verify(self, ctx: Context, client_id: str, message: Any) -> None:
        self._require_routed(client_id)
        self.require_active(ctx, client_id, "cannot update client ({}) with status {}")
        header = message if message.DESCRIPTOR.name == "Header" else getattr(message, "header_1", None)
        trusted = header.trusted_height if header is not None else self.new(CLIENT_V1 + "Height")
        shown = f"{trusted.revision_number}-{trusted.revision_height}"
        text = "could not get trusted consensus state from clientStore for Header at TrustedHeight"
        raise errors.NO_CONSENSUS_STATE(f"{text}: {shown}")

    def _require_routed(self, client_id: str) -> None:
        if client_id != LOCALHOST_CLIENT and not is_numbered_client(client_id):
            text = f"invalid client identifier {client_id} is not in format: `{{client-type}}-{{N}}`"
            raise INVALID_IDENTIFIER(f"unable to parse client identifier {client_id}: {text}")

    @validates(CLIENT_V1 + "MsgUpgradeClient")
    def validate_upgrade_client(self, msg: Any) -> None:
        self._states(msg)
        if not msg.proof_upgrade_client:
            raise errors.INVALID_UPGRADE("proof of upgrade client cannot be empty")
        if not msg.proof_upgrade_consensus_state:
            raise errors.INVALID_UPGRADE("proof of upgrade consensus state cannot be empty")
        check("client", msg.client_id)

    @handles(CLIENT_V1 + "MsgUpgradeClient")
    def handle_upgrade_client(self, ctx: Context, msg: Any) -> Any:
        self._require_routed(msg.client_id)
        self.require_active(ctx, msg.client_id, "cannot upgrade client ({}) with status {}")
        text = "please ensure the proof was constructed against a height that exists on the client"
        raise errors.NO_CONSENSUS_STATE(f"cannot upgrade client with ID {msg.client_id}: {text}")

    # Administration.

    def require_authority(self, signer: str) -> None:
        """Refuse everybody but the governance, in IBC's words."""
        expected = self.modules.gov.authority
        if signer != expected:
            raise errors.UNAUTHORIZED(f"expected {expected}, got {signer}")

    @validates(CLIENT_V1 + "MsgRecoverClient")
    def validate_recover(self, msg: Any) -> None:
        check("client", msg.subject_client_id)
        check("client", msg.substitute_client_id)
        if msg.subject_client_id == msg.substitute_client_id:
            raise errors.INVALID_SUBSTITUTE("subject and substitute clients must be different")

    @handles(CLIENT_V1 + "MsgRecoverClient")
    def handle_recover(self, ctx: Context, msg: Any) -> Any:
        self.require_authority(msg.signer)
        status = self.client_status(ctx, msg.subject_client_id)
        if status == "Active":
            text = f"cannot recover subject client ({msg.subject_client_id}) with status {status}"
            raise errors.INVALID_RECOVERY(f"client recovery failed: {text}")
        form = "client recovery failed: cannot recover client using substitute client ({}) with status {}"
        self.require_active(ctx, msg.substitute_client_id, form)
        raise errors.NOT_FOUND(f"client recovery failed: {msg.subject_client_id}")

    @handles(CLIENT_V1 + "MsgIBCSoftwareUpgrade")
    def handle_software_upgrade(self, ctx: Context, msg: Any) -> Any:
        self.require_authority(msg.signer)
        self._unpacked(msg, "upgraded_client_state", "ClientState", ".ClientState")
        self.modules.upgrade.schedule(ctx, msg.plan)
        return self.new(CLIENT_V1 + "MsgIBCSoftwareUpgradeResponse")

    @handles(CLIENT_V1 + "MsgUpdateParams")
    def handle_client_params(self, ctx: Context, msg: Any) -> Any:
        self.require_authority(msg.signer)
        self.set_client_params(ctx, msg.params)
        return self.new(CLIENT_V1 + "MsgUpdateParamsResponse")

    def client_creator(self, ctx: Context, client_id: str) -> str:
        """Who created a client; nobody for those of the beginning."""
        return (ctx.store.get(_CREATOR + client_id.encode()) or b"").decode()

    @validates(CLIENT_V1 + "MsgDeleteClientCreator")
    def validate_delete_creator(self, msg: Any) -> None:
        check("client", msg.client_id)
        if not is_numbered_client(msg.client_id):
            raise INVALID_IDENTIFIER(f"client ID {msg.client_id} must be in valid format: {{string}}-{{number}}")

    @handles(CLIENT_V1 + "MsgDeleteClientCreator")
    def handle_delete_creator(self, ctx: Context, msg: Any) -> Any:
        creator = self.client_creator(ctx, msg.client_id)
        if not creator:
            raise errors.NOT_FOUND(f"creator for client {msg.client_id} not found")
        self.require_creator(ctx, msg, f"delete creator for {msg.client_id}")
        ctx.store.delete(_CREATOR + msg.client_id.encode())
        return self.new(CLIENT_V1 + "MsgDeleteClientCreatorResponse")

    def require_creator(self, ctx: Context, msg: Any, what: str) -> None:
        """Refuse who neither made a client nor governs."""
        authority, creator = self.modules.gov.authority, self.client_creator(ctx, msg.client_id)
        if msg.signer not in (authority, creator):
            text = f"authority {authority} or client creator {creator} is authorized to {what}, got {msg.signer}"
            raise errors.UNAUTHORIZED(text)


def _check_state(state: Any) -> None:
    if not state.chain_id.strip():
        raise _refusal(2, "invalid chain-id")("chain id cannot be empty string")
    if len(state.chain_id.encode()) > _LONGEST_CHAIN_ID:
        text = f"chainID is too long; got: {len(state.chain_id.encode())}, max: {_LONGEST_CHAIN_ID}"
        raise _refusal(2, "invalid chain-id")(text)
    part, whole = state.trust_level.numerator, state.trust_level.denominator
    if whole == 0 or part > whole or part * 3 < whole:
        raise _refusal(15, "invalid trust level")(f"trustLevel must be within [1/3, 1], given {part}/{whole}")
    for name, code in (("trusting_period", 3), ("unbonding_period", 4), ("max_clock_drift", 7)):
        words = name.replace("_", " ")
        if getattr(state, name).ToNanoseconds() <= 0:
            raise _refusal(code, f"invalid {words}")(f"{words} must be greater than zero")
    number = revision(state.chain_id)
    if state.latest_height.revision_number != number:
        shown = f"({state.latest_height.revision_number} != {number})"
        text = f"latest height revision number must match chain id revision number {shown}"
        raise _refusal(5, "invalid header height")(text)
    if state.latest_height.revision_height == 0:
        text = "tendermint client's latest height revision height cannot be zero"
        raise _refusal(5, "invalid header height")(text)
    if state.trusting_period.ToNanoseconds() >= state.unbonding_period.ToNanoseconds():
        raise _refusal(3, "invalid trusting period")("trusting period should be < unbonding period")
    if not state.proof_specs:
        raise _refusal(13, "invalid proof specs")("proof specs cannot be nil for tm client")
