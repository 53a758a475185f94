"""Application results as the RPC's JSON shows them. All functions are pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from leasehold.chain.comet import rendering as comet
from leasehold.chain.comet.blocks import tx_hash
from leasehold.chain.comet.merkle import prove
from leasehold.chain.comet.validators import Validator
from leasehold.devnet.app.abci import AppInfo, Event, FinalizeResult, QueryResult, TxResult, ValidatorUpdate
from leasehold.devnet.consensus.blockstore import IndexedTx, StoredBlock
from leasehold.devnet.consensus.genesis import render_params
from leasehold.devnet.rpc.gojson import escaped

Json = dict[str, Any]

_encoder = msgspec.json.Encoder()


def encoded(value: object) -> bytes:
    """Compact JSON with Go's escapes."""
    return escaped(_encoder.encode(value))


def _bytes(data: bytes | None) -> str | None:
    return None if data is None else comet.base64(data)


def event(value: Event) -> Json:
    attributes = [{"key": key, "value": text, "index": True} for key, text in value.attributes]
    return {"type": value.type, "attributes": attributes}


def events(values: Sequence[Event]) -> list[Json] | None:
    return [event(value) for value in values] or None


def tx_result(value: TxResult) -> Json:
    """A result with every member, zero or not."""
    return {
        "code": value.code,
        "data": _bytes(value.data),
        "log": value.log,
        "info": value.info,
        "gas_wanted": str(value.gas_wanted),
        "gas_used": str(value.gas_used),
        "events": [event(entry) for entry in value.events],
        "codespace": value.codespace,
    }


def sparse_tx_result(value: TxResult) -> Json:
    """A result without its zero members, as the Tx event of a subscription has it."""
    full = tx_result(value)
    empty: tuple[object, ...] = (0, "", "0", None, [])
    return {name: member for name, member in full.items() if member not in empty}


def indexed_tx(value: IndexedTx, block: StoredBlock | None = None) -> Json:
    """A delivered transaction; with the block it is in, also the proof that it is there."""
    shown: Json = {
        "hash": comet.hexadecimal(tx_hash(value.tx)),
        "height": str(value.height),
        "index": value.index,
        "tx_result": tx_result(value.result),
        "tx": comet.base64(value.tx),
    }
    if block is not None:
        hashes = [tx_hash(tx) for tx in block.block.txs]
        shown["proof"] = {
            "root_hash": comet.hexadecimal(block.block.header.data_hash),
            "data": comet.base64(value.tx),
            "proof": comet.proof(prove(hashes, value.index)),
        }
    return shown


def block(value: StoredBlock | None) -> Json:
    if value is None:
        return {"block_id": {"hash": "", "parts": {"total": 0, "hash": ""}}, "block": None}
    return {"block_id": comet.block_id(value.id), "block": comet.block(value.block)}


def block_meta(value: StoredBlock) -> Json:
    return {
        "block_id": comet.block_id(value.id),
        "block_size": str(value.size),
        "header": comet.header(value.block.header),
        "num_txs": str(len(value.block.txs)),
    }


def validator_update(value: ValidatorUpdate) -> Json:
    key = {"type": "tendermint.crypto.PublicKey_Ed25519", "value": {"ed25519": comet.base64(value.public_key)}}
    shown: Json = {"pub_key": {"Sum": key}}
    if value.power:
        shown["power"] = str(value.power)
    return shown


def block_results(height: int, value: FinalizeResult) -> Json:
    return {
        "height": str(height),
        "txs_results": [tx_result(result) for result in value.tx_results] or None,
        "finalize_block_events": events(value.events),
        "validator_updates": [validator_update(update) for update in value.validator_updates] or None,
        "consensus_param_updates": render_params(value.params, zeros=False),
        "app_hash": comet.base64(value.app_hash),
    }


def finalize_block(value: FinalizeResult) -> Json:
    """Results as a NewBlock event shows them: no member for what did not happen, except validator updates."""
    shown: Json = {}
    if value.events:
        shown["events"] = [event(entry) for entry in value.events]
    if value.tx_results:
        shown["tx_results"] = [tx_result(result) for result in value.tx_results]
    shown["validator_updates"] = [validator_update(update) for update in value.validator_updates]
    shown["consensus_param_updates"] = render_params(value.params, zeros=False)
    shown["app_hash"] = comet.base64(value.app_hash)
    return shown


def validators(height: int, page: Sequence[Validator], total: int) -> Json:
    return {
        "block_height": str(height),
        "validators": [comet.validator(value) for value in page],
        "count": str(len(page)),
        "total": str(total),
    }


def query_result(value: QueryResult) -> Json:
    return {
        "response": {
            "code": value.code,
            "log": value.log,
            "info": value.info,
            "index": str(value.index),
            "key": _bytes(value.key),
            "value": _bytes(value.value),
            "proofOps": None,
            "height": str(value.height),
            "codespace": value.codespace,
        }
    }


def app_info(value: AppInfo) -> Json:
    """What the application says about itself, zero members left out."""
    shown: Json = {"data": value.name, "version": value.version}
    if value.app_version:
        shown["app_version"] = str(value.app_version)
    if value.last_height:
        shown["last_block_height"] = str(value.last_height)
    if value.last_app_hash:
        shown["last_block_app_hash"] = comet.base64(value.last_app_hash)
    return {"response": {name: member for name, member in shown.items() if member}}


def broadcast(tx: bytes, value: TxResult | None) -> Json:
    """Answer to a broadcast; without a result, the one that does not wait for any."""
    result = value or TxResult()
    return {
        "code": result.code,
        "data": comet.hexadecimal(result.data or b""),
        "log": result.log,
        "codespace": result.codespace,
        "hash": comet.hexadecimal(tx_hash(tx)),
    }


def unconfirmed(listed: Sequence[bytes] | None, total: int, total_bytes: int) -> Json:
    """Pending transactions; without a list only their number."""
    return {
        "n_txs": str(total if listed is None else len(listed)),
        "total": str(total),
        "total_bytes": str(total_bytes),
        "txs": None if listed is None else [comet.base64(tx) for tx in listed],
    }
