"""A bank, an interchain handler and a scriptable contract, enough to drive the runtime without a chain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import msgspec

from leasehold.core.addresses import Bech32Prefixes
from leasehold.devnet.app.abci import Event
from leasehold.devnet.state.store import OrderedMap, Reader, Store
from leasehold.devnet.wasm.contract import (
    BankCoin,
    ContractError,
    Deps,
    Env,
    Info,
    Interchain,
    Reply,
    Response,
)
from leasehold.devnet.wasm.failures import ModuleFailure
from leasehold.devnet.wasm.host import Block, Call
from leasehold.devnet.wasm.runtime import Runtime

PREFIXES = Bech32Prefixes("chain")
ALICE = PREFIXES.account_text(sha256(b"alice").digest()[:20])
BOB = PREFIXES.account_text(sha256(b"bob").digest()[:20])


class SimpleBank:
    """Balances under `bank/`; one `transfer` event per movement."""

    def send(self, store: Store, sender: str, recipient: str, coins: Sequence[BankCoin]) -> list[Event]:
        for coin in coins:
            held = self.balance(store, sender, coin.denom)
            if held < coin.amount:
                raise ModuleFailure("sdk", 5, "insufficient funds")
            store.set(_key(sender, coin.denom), str(held - coin.amount).encode())
            self.give(store, recipient, coin)
        text = ",".join(f"{coin.amount}{coin.denom}" for coin in coins)
        return [Event("transfer", [("recipient", recipient), ("sender", sender), ("amount", text)])]

    def give(self, store: Store, address: str, coin: BankCoin) -> None:
        held = self.balance(store, address, coin.denom)
        store.set(_key(address, coin.denom), str(held + coin.amount).encode())

    def burn(self, store: Store, owner: str, coins: Sequence[BankCoin]) -> list[Event]:
        self.send(store, owner, "burnt", coins)
        return [Event("burn", [("burner", owner)])]

    def balance(self, store: Reader, address: str, denom: str) -> int:
        return int(store.get(_key(address, denom)) or b"0")

    def balances(self, store: Reader, address: str) -> tuple[BankCoin, ...]:
        start = f"bank/{address}/".encode()
        return tuple(
            BankCoin(key[len(start) :].decode(), int(value))
            for key, value in store.iterate(start, start + b"\xff")
            if value != b"0"
        )


def _key(address: str, denom: str) -> bytes:
    return f"bank/{address}/{denom}".encode()


@dataclass
class SentInterchain:
    """Keeps what contracts sent to other chains."""

    sent: list[tuple[str, Interchain]] = field(default_factory=list)

    def dispatch(self, call: Call, contract: str, message: Interchain) -> bytes | None:
        self.sent.append((contract, message))
        call.events.append(Event("message", [("module", "ibc")]))
        return b""


Script = Callable[[Deps, Env, Info], Response]


class Scripted:
    """A contract whose behaviour a test writes: message `{"do":"name"}` runs the script of that name."""

    def __init__(self) -> None:
        self.scripts: dict[str, Script] = {}
        self.on_reply: Callable[[Deps, Env, Reply], Response] = lambda deps, env, reply: Response()
        self.replies: list[Reply] = []

    def instantiate(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response:
        return self.execute(deps, env, info, msg)

    def execute(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response:
        name = msgspec.json.decode(msg).get("do")
        if name is None:
            return Response()
        if name not in self.scripts:
            raise ContractError(f"no script {name}")
        return self.scripts[name](deps, env, info)

    def query(self, deps: Deps, env: Env, msg: bytes) -> bytes:
        return self.execute(deps, env, Info(env.contract), msg).data or b"null"

    def reply(self, deps: Deps, env: Env, reply: Reply) -> Response:
        self.replies.append(reply)
        return self.on_reply(deps, env, reply)

    def sudo(self, deps: Deps, env: Env, msg: bytes) -> Response:
        return self.execute(deps, env, Info(env.contract), msg)

    def migrate(self, deps: Deps, env: Env, msg: bytes) -> Response:
        return self.execute(deps, env, Info(env.contract), msg)


class Machine:
    """A runtime with one scripted code and one contract of it."""

    def __init__(self) -> None:
        self.store = OrderedMap()
        self.bank = SimpleBank()
        self.interchain = SentInterchain()
        self.program = Scripted()
        self.runtime = Runtime(PREFIXES, self.bank, self.interchain)
        self.runtime.install(bytes(32), self.program)
        self.block = Block(7, 1_000_000_000, "test-1", 2)
        self.code = self.runtime.store_code(self.call(), ALICE, bytes(32))
        self.address, _ = self.runtime.instantiate(self.call(), ALICE, self.code, b"{}", label="first", admin=ALICE)

    def call(self) -> Call:
        return Call(self.store, self.block)

    def script(self, name: str, script: Script) -> bytes:
        """Teach the contract a message; its JSON."""
        self.program.scripts[name] = script
        return msgspec.json.encode({"do": name})
