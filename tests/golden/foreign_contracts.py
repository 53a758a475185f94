"""Stand-ins for the public test contracts of the recorded chain: hackatom, reflect, queue and cyberpunk.

They do with coins, storage, events and answers what the recordings show, because everything after depends on it. What
was never recorded of them is left out.
"""

from __future__ import annotations

import base64
import json
from hashlib import sha256
from typing import Any

from leasehold.devnet.state.gas import OutOfGas
from leasehold.devnet.wasm.contract import (
    BankCoin,
    BankSend,
    Contract,
    ContractError,
    ContractTrap,
    Deps,
    Env,
    Event,
    Info,
    Message,
    Reply,
    ReplyOn,
    Response,
    SubMessage,
    WasmExecute,
)
from leasehold.devnet.wasm.failures import VM_ERROR, WasmFailure

_CONFIG = b"config"
_REPLIES = b"result:"
_RELEASE_DATA = bytes.fromhex("f00baa")
_QUERY_GAS = 5_000_000
_LOOPS = ("cpu_loop", "storage_loop", "memory_loop", "message_loop", "allocate_large_memory", "panic")
_HACKATOM = ("release", *_LOOPS, "user_errors_in_api_calls")
_CYBERPUNK = ("argon2", *_LOOPS, "unreachable", "mirror_env", "debug")
_QUESTIONS = ("verifier", "other_balance", "recurse", "get_int")
# Members of the questions, by type and name; those of messages are not looked at.
_FIELDS: dict[tuple[str, str], tuple[str, ...]] = {
    ("hackatom::msg::QueryMsg", "verifier"): (),
    ("hackatom::msg::QueryMsg", "other_balance"): ("address",),
    ("hackatom::msg::QueryMsg", "recurse"): ("depth", "work"),
    ("hackatom::msg::QueryMsg", "get_int"): (),
    ("reflect::msg::QueryMsg", "owner"): (),
    ("reflect::msg::QueryMsg", "capitalized"): ("text",),
    ("reflect::msg::QueryMsg", "chain"): ("request",),
    ("reflect::msg::QueryMsg", "raw"): ("contract", "key"),
    ("reflect::msg::QueryMsg", "sub_msg_result"): ("id",),
}
# Rounds of hashing that are more than a question may cost.
_ROUNDS = 4_500_000
_THRESHOLD = 0x20
_UNREACHABLE = "Error calling the VM: Error executing Wasm: Wasmer runtime error: RuntimeError: unreachable"


def stand_in(code: bytes) -> Contract:
    """The stand-in for a program, which its bytecode names."""
    for name, contract in ((b"hackatom", Hackatom()), (b"cyberpunk", Cyberpunk()), (b"queue", Queue())):
        if name in code:
            return contract
    return Reflect()


def _variant(msg: bytes, kind: str, known: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    """The one of several messages that a text is, and what it says; faults are told as the programs' reader does."""
    document = json.loads(msg)
    fault = ""
    if not isinstance(document, (dict, str)):
        fault = "Expected to parse either a `true`, `false`, or a `null`."
    elif not document and not isinstance(document, str):
        fault = "Invalid type"
    else:
        name = document if isinstance(document, str) else next(iter(document))
        body = None if isinstance(document, str) else document[name]
        if name not in known:
            fault = f"unknown variant `{name}`, expected one of " + ", ".join(f"`{variant}`" for variant in known)
        elif not isinstance(body, dict):
            fault = "Invalid type"
        else:
            fault = _fields_fault(body, _FIELDS.get((kind, name)))
    if fault:
        raise ContractError(f"Error parsing into type {kind}: {fault}")
    assert isinstance(body, dict)
    return name, body


def _fields_fault(body: dict[str, Any], fields: tuple[str, ...] | None) -> str:
    """A member too many, or the first one that is missing; None are not looked at."""
    if fields is None:
        return ""
    strange = next((key for key in body if key not in fields), None)
    if strange is not None:
        listed = " or ".join(f"`{field}`" for field in fields)
        expected = f"expected {'one of ' if len(fields) > 2 else ''}{listed}" if fields else "there are no fields"
        return f"unknown field `{strange}`, {expected}"
    missing = next((field for field in fields if field not in body), None)
    return f"missing field `{missing}`" if missing is not None else ""


def _encoded(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


class _Silent:
    """Entry points that do nothing."""

    def instantiate(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response:
        return Response()

    def query(self, deps: Deps, env: Env, msg: bytes) -> bytes:
        return b"{}"

    def reply(self, deps: Deps, env: Env, reply: Reply) -> Response:
        return Response()

    def sudo(self, deps: Deps, env: Env, msg: bytes) -> Response:
        return Response()

    def migrate(self, deps: Deps, env: Env, msg: bytes) -> Response:
        body = json.loads(msg)
        config = json.loads(deps.storage.get(_CONFIG) or b"{}")
        if "verifier" not in body or "verifier" not in config:
            raise ContractError("State not found")
        deps.storage.set(_CONFIG, _encoded(config | body))
        return Response()


class Hackatom(_Silent):
    """Keeps coins for a beneficiary until the verifier releases them."""

    def instantiate(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response:
        given = json.loads(msg)
        if set(given) != {"verifier", "beneficiary"}:
            raise ContractError("missing field `verifier`")
        config = {"verifier": given["verifier"], "beneficiary": given["beneficiary"], "funder": info.sender}
        deps.storage.set(_CONFIG, _encoded(config))
        return Response(attributes=[("Let the", "hacking begin")])

    def execute(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response:
        name, _ = _variant(msg, "hackatom::msg::ExecuteMsg", _HACKATOM)
        if name != "release":
            raise ContractTrap("panicked at 'This page intentionally faulted', src/contract.rs:169:5")
        config = json.loads(deps.storage.get(_CONFIG) or b"{}")
        if info.sender != config.get("verifier"):
            raise ContractError("Unauthorized")
        response = Response(
            attributes=[("action", "release"), ("destination", config["beneficiary"])],
            events=[Event("hackatom", [("action", "release")])],
            data=_RELEASE_DATA,
        )
        response.send(BankSend(config["beneficiary"], deps.querier.balances(env.contract)))
        return response

    def query(self, deps: Deps, env: Env, msg: bytes) -> bytes:
        name, body = _variant(msg, "hackatom::msg::QueryMsg", _QUESTIONS)
        if name == "verifier":
            return _encoded({"verifier": json.loads(deps.storage.get(_CONFIG) or b"{}")["verifier"]})
        if name == "other_balance":
            coins = deps.querier.balances(body["address"])
            return _encoded({"amount": [{"denom": coin.denom, "amount": str(coin.amount)} for coin in coins]})
        if name == "recurse":
            if (body["depth"] + 1) * body["work"] > _ROUNDS:
                raise OutOfGas("wasm contract", _QUERY_GAS, _QUERY_GAS + 1)
            # Every level hashes the same address as often, so that the deepest one's answer is any one's.
            hashed = env.contract.encode()
            for _ in range(body["work"]):
                hashed = sha256(hashed).digest()
            return _encoded({"hashed": base64.b64encode(hashed).decode()})
        return _encoded({"int": int.from_bytes(_RELEASE_DATA, "big")})


class Reflect(_Silent):
    """Passes its owner's messages on."""

    def instantiate(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response:
        deps.storage.set(_CONFIG, _encoded({"owner": info.sender}))
        return Response()

    def execute(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response:
        known = ("reflect_msg", "reflect_sub_msg", "change_owner")
        name, body = _variant(msg, "reflect::msg::ExecuteMsg", known)
        if info.sender != json.loads(deps.storage.get(_CONFIG) or b"{}").get("owner"):
            raise ContractError("Permission denied: the sender is not the current owner")
        if name == "reflect_msg":
            response = Response(attributes=[("action", "reflect")])
            for item in body["msgs"]:
                response.send(_message(item))
            return response
        response = Response(attributes=[("action", "reflect_subcall")])
        for item in body["msgs"]:
            reply_on = ReplyOn(item["reply_on"])
            response.messages.append(SubMessage(_message(item["msg"]), item.get("id", 0), reply_on))
        return response

    def reply(self, deps: Deps, env: Env, reply: Reply) -> Response:
        result = {"error": reply.error} if reply.error is not None else {"ok": {"events": [], "data": None}}
        kept = {"id": reply.id, "payload": "", "gas_used": 0, "result": result}
        deps.storage.set(_REPLIES + reply.id.to_bytes(8, "big"), _encoded(kept))
        return Response()

    def query(self, deps: Deps, env: Env, msg: bytes) -> bytes:
        known = ("owner", "capitalized", "chain", "raw", "sub_msg_result")
        name, body = _variant(msg, "reflect::msg::QueryMsg", known)
        if name == "owner":
            return deps.storage.get(_CONFIG) or b"{}"
        if name == "sub_msg_result":
            return deps.storage.get(_REPLIES + int(body["id"]).to_bytes(8, "big")) or b"null"
        if name == "chain" and (answer := _asked(deps, body["request"])) is not None:
            return _encoded({"data": base64.b64encode(answer).decode()})
        text = "Querier system error: Unsupported query type: unknown nolus query type"
        raise ContractError(f"Generic error: {text}")


class Queue(_Silent):
    """Numbers under keys that count up from one."""

    def execute(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response:
        name, body = _variant(msg, "queue::msg::ExecuteMsg", ("enqueue", "dequeue"))
        if name == "enqueue":
            last = next(deps.storage.iterate(reverse=True), None)
            number = int.from_bytes(last[0], "big") + 1 if last else 0
            deps.storage.set(number.to_bytes(4, "big"), _encoded({"value": body["value"]}))
            return Response()
        first = next(deps.storage.iterate(), None)
        if first is None:
            return Response()
        deps.storage.delete(first[0])
        return Response(data=first[1])

    def query(self, deps: Deps, env: Env, msg: bytes) -> bytes:
        known = ("count", "sum", "reducer", "list", "open_iterators")
        name, _ = _variant(msg, "queue::msg::QueryMsg", known)
        entries = [(int.from_bytes(key, "big"), json.loads(value)["value"]) for key, value in deps.storage.iterate()]
        numbers, values = [number for number, _ in entries], [value for _, value in entries]
        answers: dict[str, dict[str, Any]] = {
            "count": {"count": len(values)},
            "sum": {"sum": sum(values)},
            "reducer": {"counters": [[value, sum(v for v in values if v > value)] for value in values]},
            "list": {
                "empty": [],
                "early": [number for number in numbers if number < _THRESHOLD],
                "late": [number for number in numbers if number >= _THRESHOLD],
            },
            "open_iterators": {},
        }
        return _encoded(answers[name])


class Cyberpunk(_Silent):
    """Faults of every kind."""

    def execute(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response:
        name, _ = _variant(msg, "cyberpunk::msg::ExecuteMsg", _CYBERPUNK)
        if name == "unreachable":
            raise WasmFailure(VM_ERROR, _UNREACHABLE)
        if name in _LOOPS:
            raise ContractTrap("panicked at 'This page intentionally faulted', src/contract.rs:99:5")
        return Response()

    def query(self, deps: Deps, env: Env, msg: bytes) -> bytes:
        name, _ = _variant(msg, "cyberpunk::msg::QueryMsg", ("mirror_env", "denoms", "denom"))
        if name != "mirror_env":
            raise ContractError("Generic error: Querier system error: Unsupported query type: denoms are not told here")
        block = {"height": env.height, "time": str(env.time_ns), "chain_id": env.chain_id}
        return _encoded({"block": block, "transaction": None, "contract": {"address": env.contract}})


def _asked(deps: Deps, request: dict[str, Any]) -> bytes | None:
    """The chain's own answer to a question that a contract passes on; None where it has none."""
    bank, wasm = request.get("bank", {}), request.get("wasm", {})
    if "balance" in bank:
        asked = bank["balance"]
        amount = deps.querier.balance(asked["address"], asked["denom"])
        return _encoded({"amount": {"denom": asked["denom"], "amount": str(amount)}})
    if "all_balances" in bank:
        coins = deps.querier.balances(bank["all_balances"]["address"])
        return _encoded({"amount": [{"denom": coin.denom, "amount": str(coin.amount)} for coin in coins]})
    if "smart" in wasm:
        return deps.querier.smart(wasm["smart"]["contract_addr"], base64.b64decode(wasm["smart"]["msg"]))
    return None


def _message(document: dict[str, Any]) -> Message:
    if "bank" in document:
        send = document["bank"]["send"]
        return BankSend(send["to_address"], _coins(send["amount"]))
    call = document["wasm"]["execute"]
    return WasmExecute(call["contract_addr"], base64.b64decode(call["msg"]), _coins(call.get("funds", [])))


def _coins(documents: list[dict[str, str]]) -> tuple[BankCoin, ...]:
    return tuple(BankCoin(coin["denom"], int(coin["amount"])) for coin in documents)
