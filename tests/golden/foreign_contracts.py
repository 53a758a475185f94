"""Stand-ins for the public test contracts of the recorded chain: hackatom, reflect, queue and cyberpunk.

They do with coins, storage, events and answers what the recordings show, because everything after depends on it. What
was never recorded of them is left out.
"""

from __future__ import annotations

import base64
import json
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
_UNREACHABLE = "Error calling the VM: Error executing Wasm: Wasmer runtime error: RuntimeError: unreachable"


def stand_in(code: bytes) -> Contract:
    """The stand-in for a program, which its bytecode names."""
    for name, contract in ((b"hackatom", Hackatom()), (b"cyberpunk", Cyberpunk()), (b"queue", Queue())):
        if name in code:
            return contract
    return Reflect()


def _variant(msg: bytes, kind: str, known: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    name, body = next(iter(json.loads(msg).items()))
    if name not in known:
        listed = ", ".join(f"`{variant}`" for variant in known)
        raise ContractError(f"Error parsing into type {kind}: unknown variant `{name}`, expected one of {listed}")
    return name, body


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
            raise OutOfGas("wasm contract", _QUERY_GAS, _QUERY_GAS + 1)
        return _encoded(61440)


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
        text = "Querier system error: Unsupported query type: unknown nolus query type"
        raise ContractError(f"Generic error: {text}")


class Queue(_Silent):
    """Numbers under keys that count up from one."""

    def execute(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response:
        name, body = _variant(msg, "queue::contract::ExecuteMsg", ("enqueue", "dequeue"))
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
        name, _ = _variant(msg, "queue::contract::QueryMsg", ("count", "sum", "reducer", "list"))
        values = [json.loads(value)["value"] for _, value in deps.storage.iterate()]
        return _encoded({"count": len(values)} if name == "count" else {"sum": sum(values)})


class Cyberpunk(_Silent):
    """Faults of every kind."""

    def execute(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response:
        name, _ = _variant(msg, "cyberpunk::msg::ExecuteMsg", _CYBERPUNK)
        if name == "unreachable":
            raise WasmFailure(VM_ERROR, _UNREACHABLE)
        if name in _LOOPS:
            raise ContractTrap("panicked at 'This page intentionally faulted', src/contract.rs:99:5")
        return Response()


def _message(document: dict[str, Any]) -> Message:
    if "bank" in document:
        send = document["bank"]["send"]
        return BankSend(send["to_address"], _coins(send["amount"]))
    call = document["wasm"]["execute"]
    return WasmExecute(call["contract_addr"], base64.b64decode(call["msg"]), _coins(call.get("funds", [])))


def _coins(documents: list[dict[str, str]]) -> tuple[BankCoin, ...]:
    return tuple(BankCoin(coin["denom"], int(coin["amount"])) for coin in documents)
