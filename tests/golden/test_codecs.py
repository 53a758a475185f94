"""The codecs agree with what a real node wrote: LCD bodies, descriptors, sign bytes, decode errors."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from leasehold.chain.json_codec import json_codec
from leasehold.chain.registry import Method
from leasehold.chain.standard_transactions import StandardTransactions
from leasehold.chain.transactions import (
    DIRECT,
    LEGACY_AMINO_JSON,
    UndecodableTransaction,
    decode_transaction,
    sign_bytes,
    transaction_hash,
)
from leasehold.chain.wallet import Wallet
from leasehold.core.errors import InvalidInput

GOLDEN = Path(os.environ.get("LEASEHOLD_GOLDEN") or Path(__file__).parents[3] / "shared" / "golden") / "chain"
CODEC = json_codec("nolus")
TYPES = CODEC.types
SHORTENED = "left out"

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not GOLDEN.is_dir(), reason="no recordings: set LEASEHOLD_GOLDEN"),
]


def cases(folder: str) -> Iterator[dict[str, Any]]:
    for path in sorted((GOLDEN / folder).glob("*.json")):
        content = json.loads(path.read_text())
        for case in content.get("cases", []) if isinstance(content, dict) else []:
            yield {"file": path.name, **case}


def wire_text(value: object) -> str:
    """The text a node wrote, rebuilt from its parsed form."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", text)


@cache
def routes() -> list[tuple[str, re.Pattern[str], Method]]:
    return [(rule.verb, template(rule.template), method) for method in TYPES.methods for rule in method.http]


def template(text: str) -> re.Pattern[str]:
    text = re.sub(r"\{[\w.]+=\*\*\}", ".+", text)
    return re.compile(re.sub(r"\{[\w.]+\}", "[^/]*", text))


def rendered_as(method: Method, body: str) -> str:
    message = CODEC.decode(method.response_type, body.encode())
    return CODEC.text(TYPES.parse(method.response_type, message.SerializeToString()))


def test_recorded_lcd_bodies_survive_the_wire() -> None:
    """Each recorded success body, read into its message, sent through protobuf and written again, is itself."""
    tried = 0
    for case in cases("lcd"):
        request, response = case["request"], case["response"]
        if response["status"] != 200 or "body" not in response or SHORTENED in json.dumps(response["body"]):
            continue
        path = request["path"].split("?")[0]
        methods = [
            method for verb, pattern, method in routes() if verb == request["method"] and pattern.fullmatch(path)
        ]
        if not methods:
            continue
        body = wire_text(response["body"])
        assert any(rendered_as(method, body) == body for method in methods), (case["file"], case["case"])
        tried += 1
    assert tried > 100


def test_recorded_grpc_answers_render_as_the_lcd_rendered_them() -> None:
    """Protobuf answers for which the same request was recorded on the LCD, with the same state, have that body."""
    bodies = {
        (method.path, wire_text(case["response"]["body"]))
        for case in cases("lcd")
        if case["response"]["status"] == 200 and "body" in case["response"]
        for verb, pattern, method in routes()
        if verb == case["request"]["method"] and pattern.fullmatch(case["request"]["path"].split("?")[0])
    }
    agreed = 0
    for case in cases("grpc"):
        encoded = case["response"].get("response_base64") if isinstance(case.get("response"), dict) else None
        method = TYPES.method_by_path.get(case.get("request", {}).get("method", ""))
        if not encoded or method is None:
            continue
        text = CODEC.text(TYPES.parse(method.response_type, base64.b64decode(encoded)))
        json.loads(text)
        agreed += (method.path, text) in bodies
    assert agreed, "no recorded answer was compared"


def test_every_listed_service_is_defined() -> None:
    """What reflection listed on a real node can be listed here."""
    listed = json.loads((GOLDEN / "grpc" / "services.json").read_text())["services_listed_by_v1alpha"]
    assert set(listed) <= set(TYPES.service_names)


def recorded_transactions() -> Iterator[tuple[dict[str, Any], bytes]]:
    for case in cases("tx"):
        encoded = case.get("request", {}).get("tx_bytes_base64", "")
        if encoded and not encoded.startswith("<"):
            yield case, base64.b64decode(encoded)


def was_refused_by_signature(case: dict[str, Any]) -> bool:
    answer = case["response"].get("broadcast_tx_sync") or {}
    return "signature verification failed" in (answer.get("log") or "")


def test_recorded_sign_bytes_are_reproduced() -> None:
    """The sign bytes of each accepted transaction follow from its raw bytes and the account."""
    modes = set()
    for case, raw in recorded_transactions():
        request = case["request"]
        if transaction_hash(raw) != request["tx_hash"] or was_refused_by_signature(case):
            continue
        if (request.get("sign_bytes_base64") or "<").startswith("<"):
            continue
        try:
            transaction = decode_transaction(TYPES, raw)
        except UndecodableTransaction:
            continue
        if not transaction.auth_info.signer_infos:
            continue
        info = transaction.auth_info.signer_infos[0].mode_info
        mode = info.single.mode if info.HasField("single") else LEGACY_AMINO_JSON
        document = sign_bytes(
            TYPES,
            transaction,
            mode,
            chain_id=request["chain_id"],
            account_number=int(request["account_number"]),
            sequence=int(request["sequence"]),
        )
        assert document == base64.b64decode(request["sign_bytes_base64"]), case["case"]
        modes.add(mode)
    assert modes >= {DIRECT, LEGACY_AMINO_JSON}


def test_recorded_decode_errors_have_their_text() -> None:
    """Transactions the node could not decode fail here with the same cause, the others decode."""
    failures = 0
    for case, raw in recorded_transactions():
        answer = case["response"].get("broadcast_tx_sync") or {}
        log = answer.get("log") or ""
        if transaction_hash(raw) != case["request"]["tx_hash"]:
            continue
        if log.endswith(": tx parse error: tx parse error"):
            with pytest.raises(UndecodableTransaction) as caught:
                decode_transaction(TYPES, raw)
            assert f"{caught.value.message}: tx parse error: tx parse error" == log, case["case"]
            failures += 1
        else:
            decode_transaction(TYPES, raw)
    assert failures


def test_recorded_wallets_sign_alike() -> None:
    """Mnemonics give the recorded addresses, and the recorded sign bytes the recorded signatures."""
    accounts = json.loads((GOLDEN / "accounts.json").read_text())["accounts"]
    wallets = {}
    for account in accounts.values():
        if "mnemonic" in account:
            wallet = Wallet.from_mnemonic(account["mnemonic"], prefix="nolus", types=TYPES)
            assert wallet.address == account["address"]
            wallets[account["mnemonic"]] = wallet
    signed = 0
    for case, _ in recorded_transactions():
        request = case["request"]
        wallet = wallets.get(str(request.get("mnemonic")))
        signatures = request.get("signatures_base64") or []
        if wallet is None or len(signatures) != 1 or (request.get("sign_bytes_base64") or "<").startswith("<"):
            continue
        made = wallet.sign(base64.b64decode(request["sign_bytes_base64"]))
        signed += base64.b64encode(made).decode() == signatures[0]
    assert signed, "no recorded signature was compared"


def test_recorded_amino_conversions_agree() -> None:
    """The amino routes of the transaction service give the recorded bytes, texts and errors."""
    codec = StandardTransactions(TYPES)
    tried = 0
    for case in cases("lcd"):
        request, response = case["request"], case["response"]
        name = request["path"].rpartition("/v1beta1/")[2]
        body = request.get("body") or {}
        try:
            if name == "encode/amino" and body.get("amino_json"):
                answer = {"amino_binary": base64.b64encode(codec.binary(body["amino_json"])).decode()}
            elif name == "decode/amino" and body.get("amino_binary"):
                answer = {"amino_json": codec.text(base64.b64decode(body["amino_binary"]))}
            else:
                continue
        except InvalidInput as error:
            answer = {"code": 2, "message": error.message, "details": []}
        assert answer == response["body"], case["case"]
        tried += 1
    assert tried
