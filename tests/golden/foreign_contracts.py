"""A stand-in for the public test contracts on the recorded chain.

Their transactions are not compared; what they do to balances is, because everything after depends on it: a payout to
a beneficiary, a message passed on, a refusal.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from leasehold.devnet.wasm.contract import (
    BankCoin,
    BankSend,
    ContractError,
    ContractTrap,
    Deps,
    Env,
    Info,
    Message,
    Reply,
    ReplyOn,
    Response,
    SubMessage,
    WasmExecute,
)

_STATE = b"state"


class StandIn:
    """Does what any of the recorded contracts would do with coins."""

    def instantiate(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response:
        given = json.loads(msg)
        if given and set(given) != {"verifier", "beneficiary"}:
            raise ContractError("missing field `verifier`")
        deps.storage.set(_STATE, json.dumps(given | {"owner": info.sender}).encode())
        return Response()

    def execute(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response:
        state = json.loads(deps.storage.get(_STATE) or b"{}")
        kind, body = next(iter(json.loads(msg).items()))
        if kind == "release":
            return self._release(deps, env, info, state)
        if kind in ("reflect_msg", "reflect_sub_msg"):
            return self._reflect(info, state, body)
        if kind in ("panic", "unreachable", "cpu_loop"):
            raise ContractTrap("RuntimeError: unreachable")
        if kind in ("enqueue", "dequeue", "argon2", "mirror_env", "debug"):
            return Response()
        raise ContractError(f"unknown variant `{kind}`")

    def _release(self, deps: Deps, env: Env, info: Info, state: dict[str, Any]) -> Response:
        if info.sender != state.get("verifier"):
            raise ContractError("Unauthorized")
        response = Response()
        response.send(BankSend(state["beneficiary"], deps.querier.balances(env.contract)))
        return response

    def _reflect(self, info: Info, state: dict[str, Any], body: dict[str, Any]) -> Response:
        if info.sender != state.get("owner"):
            raise ContractError("Permission denied: the sender is not the current owner")
        response = Response()
        for item in body["msgs"]:
            if "reply_on" in item:
                reply_on = ReplyOn(item["reply_on"])
                response.messages.append(SubMessage(_message(item["msg"]), item.get("id", 0), reply_on))
            else:
                response.send(_message(item))
        return response

    def query(self, deps: Deps, env: Env, msg: bytes) -> bytes:
        return b"{}"

    def reply(self, deps: Deps, env: Env, reply: Reply) -> Response:
        return Response()

    def sudo(self, deps: Deps, env: Env, msg: bytes) -> Response:
        return Response()

    def migrate(self, deps: Deps, env: Env, msg: bytes) -> Response:
        body = json.loads(msg)
        state = json.loads(deps.storage.get(_STATE) or b"{}")
        if "verifier" not in body or "verifier" not in state:
            raise ContractError("State not found")
        deps.storage.set(_STATE, json.dumps(state | body).encode())
        return Response()


def _message(document: dict[str, Any]) -> Message:
    if "bank" in document:
        send = document["bank"]["send"]
        return BankSend(send["to_address"], _coins(send["amount"]))
    call = document["wasm"]["execute"]
    return WasmExecute(call["contract_addr"], base64.b64decode(call["msg"]), _coins(call.get("funds", [])))


def _coins(documents: list[dict[str, str]]) -> tuple[BankCoin, ...]:
    return tuple(BankCoin(coin["denom"], int(coin["amount"])) for coin in documents)
