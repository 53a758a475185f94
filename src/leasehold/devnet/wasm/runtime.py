"""Runs contracts: their entry points, the messages they send, and the replies they asked for.

An operation works on `call.store` and appends to `call.events`; when it raises, the caller throws both away. Each
message of a contract runs on an overlay of its own, depth first, so that a failed one leaves neither state nor events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from leasehold.core.addresses import Bech32Prefixes, InvalidAddress, contract_address, predictable_contract_address
from leasehold.devnet.app.abci import Event
from leasehold.devnet.state.store import Overlay, Reader, Store
from leasehold.devnet.wasm import failures, records, replies
from leasehold.devnet.wasm.contract import (
    BankBurn,
    BankCoin,
    BankSend,
    Contract,
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
    WasmInstantiate,
    WasmMigrate,
    WasmUpdateAdmin,
)
from leasehold.devnet.wasm.events import own_events
from leasehold.devnet.wasm.failures import ModuleFailure, WasmFailure, sdk_failure
from leasehold.devnet.wasm.host import Bank, Block, Call, GasCosts, InterchainHandler
from leasehold.devnet.wasm.querier import ChainQuerier
from leasehold.devnet.wasm.records import CodeRecord, ContractRecord
from leasehold.devnet.wasm.storage import MeteredStorage, ReadStorage, WriteStorage

MAX_CALL_DEPTH = 100
MAX_QUERY_DEPTH = 10

_WASM_MESSAGES = (WasmExecute, WasmInstantiate, WasmMigrate, WasmUpdateAdmin)


class Runtime:
    """The contract machine of one chain."""

    def __init__(
        self,
        prefixes: Bech32Prefixes,
        bank: Bank,
        interchain: InterchainHandler,
        *,
        on_created: Callable[[Store, str], None] | None = None,
        costs: GasCosts | None = None,
    ) -> None:
        self._prefixes = prefixes
        self._bank = bank
        self._interchain = interchain
        self._on_created = on_created
        self._costs = costs or GasCosts()
        self._programs: dict[bytes, Contract] = {}
        # The account whose word goes whoever administers a contract.
        self.governor = ""

    # -- codes ---------------------------------------------------------------------------------------------------

    def install(self, checksum: bytes, program: Contract) -> None:
        """Make the program behind a checksum runnable in this process; state is not touched."""
        self._programs[checksum] = program

    def store_code(self, call: Call, creator: str, checksum: bytes) -> int:
        """Give an installed program a code id."""
        if checksum not in self._programs:
            raise WasmFailure((2, "create wasm contract failed"), "no program with this checksum is installed")
        code_id = records.add_code(call.store, creator, checksum)
        call.events.append(Event("store_code", [("code_checksum", checksum.hex()), ("code_id", str(code_id))]))
        return code_id

    # -- operations ----------------------------------------------------------------------------------------------

    def instantiate(
        self,
        call: Call,
        sender: str,
        code_id: int,
        msg: bytes,
        *,
        label: str,
        admin: str | None = None,
        funds: Sequence[BankCoin] = (),
        salt: bytes | None = None,
        fixed: bytes = b"",
    ) -> tuple[str, bytes | None]:
        """Create a contract, with a salt at the address that follows from it and from what is fixed with it.

        Returns its address and response data.
        """
        code = self._code(call.store, code_id)
        if code is None:
            raise WasmFailure(failures.NO_SUCH_CODE, f"code id {code_id}")
        creator = self._bytes(sender)
        if salt is None:
            raw = contract_address(code_id, records.next_instance(call.store))
        else:
            raw = predictable_contract_address(code.checksum, creator, salt, fixed)
        if records.contract(call.store, raw) is not None:
            text = "contract address already exists, try a different combination of creator, checksum and salt"
            raise WasmFailure(failures.DUPLICATE, text)
        address = self._prefixes.account_text(raw)
        if self._on_created is not None:
            self._on_created(call.store, address)
        self._attach(call, sender, address, funds)
        program = self._programs[code.checksum]
        deps, env = self._surroundings(call, raw, address, msg)
        info = Info(sender, tuple(funds))
        response = _entered(lambda: program.instantiate(deps, env, info, msg), failures.INSTANTIATE_FAILED)
        block = call.block
        record = ContractRecord(code_id, sender, admin or "", label, block.height, block.tx_index)
        records.put_contract(call.store, raw, record)
        records.add_history(call.store, raw, "init", code_id, block, msg)
        records.add_creation(call.store, creator, raw, block)
        call.events.append(Event("instantiate", [("_contract_address", address), ("code_id", str(code_id))]))
        return address, self._conclude(call, address, response, "dispatch")

    def execute(
        self, call: Call, sender: str, contract: str, msg: bytes, funds: Sequence[BankCoin] = ()
    ) -> bytes | None:
        """Call a contract with coins already moved to it; its response data."""
        raw, program = self._contract(call.store, contract)
        self._attach(call, sender, contract, funds)
        deps, env = self._surroundings(call, raw, contract, msg)
        info = Info(sender, tuple(funds))
        response = _entered(lambda: program.execute(deps, env, info, msg), failures.EXECUTE_FAILED)
        call.events.append(Event("execute", [("_contract_address", contract)]))
        return self._conclude(call, contract, response, None)

    def sudo(self, call: Call, contract: str, msg: bytes) -> bytes | None:
        """Call a contract with the chain's own authority."""
        raw, program = self._contract(call.store, contract)
        deps, env = self._surroundings(call, raw, contract, msg)
        response = _entered(lambda: program.sudo(deps, env, msg), failures.EXECUTE_FAILED)
        call.events.append(Event("sudo", [("_contract_address", contract)]))
        return self._conclude(call, contract, response, "dispatch")

    def migrate(self, call: Call, sender: str, contract: str, code_id: int, msg: bytes) -> bytes | None:
        """Give a contract another code; only its admin may."""
        raw, record = self._administered(call, sender, contract, "can not migrate")
        code = self._code(call.store, code_id)
        if code is None:
            raise sdk_failure(failures.INVALID_REQUEST, "unknown code")
        program = self._programs[code.checksum]
        deps, env = self._surroundings(call, raw, contract, msg)
        response = _entered(lambda: program.migrate(deps, env, msg), failures.MIGRATE_FAILED)
        records.add_history(call.store, raw, "migrate", code_id, call.block, msg)
        changed = ContractRecord(
            code_id, record.creator, record.admin, record.label, record.created_height, record.created_tx_index
        )
        records.put_contract(call.store, raw, changed)
        call.events.append(Event("migrate", [("code_id", str(code_id)), ("_contract_address", contract)]))
        return self._conclude(call, contract, response, "dispatch")

    def update_admin(self, call: Call, sender: str, contract: str, admin: str | None) -> None:
        """Hand the right to migrate to another account, or to nobody."""
        raw, record = self._administered(call, sender, contract, "can not modify contract")
        changed = ContractRecord(
            record.code_id, record.creator, admin or "", record.label, record.created_height, record.created_tx_index
        )
        records.put_contract(call.store, raw, changed)
        attributes = [("_contract_address", contract), ("new_admin_address", admin or "")]
        call.events.append(Event("update_contract_admin", attributes))

    # -- reads ---------------------------------------------------------------------------------------------------

    def query(self, state: Reader, block: Block, contract: str, msg: bytes, *, depth: int = 0) -> bytes:
        """A contract's JSON answer at a state; a refusal is a WasmFailure."""
        if depth >= MAX_QUERY_DEPTH:
            raise WasmFailure(failures.QUERY_STACK_EXCEEDED)
        raw, program = self._contract(state, contract)
        env = Env(block.height, block.time_ns, block.chain_id, block.tx_index, contract)
        deps = Deps(ReadStorage(state, raw), self._querier(state, block, depth + 1))
        try:
            return program.query(deps, env, msg)
        except ContractError as error:
            raise WasmFailure(failures.QUERY_FAILED, str(error), own=True) from error
        except ContractTrap as error:
            raise failures.trap(str(error)) from error

    def raw(self, state: Reader, contract: str, key: bytes) -> bytes | None:
        """The stored value under a key of a contract's storage."""
        return ReadStorage(state, self._bytes(contract)).get(key)

    def record(self, state: Reader, contract: str) -> ContractRecord:
        """What the chain knows of a contract."""
        record = records.contract(state, self._bytes(contract))
        if record is None:
            raise _missing(contract)
        return record

    # -- the machine ---------------------------------------------------------------------------------------------

    def _code(self, state: Reader, code_id: int) -> CodeRecord | None:
        code = records.code(state, code_id)
        if code is not None and code.checksum not in self._programs:
            raise WasmFailure(failures.VM_ERROR, f"no program for code id {code_id} in this process")
        return code

    def _contract(self, state: Reader, contract: str) -> tuple[bytes, Contract]:
        raw = self._bytes(contract)
        record = records.contract(state, raw)
        if record is None:
            raise _missing(contract)
        code = self._code(state, record.code_id)
        assert code is not None
        return raw, self._programs[code.checksum]

    def _administered(self, call: Call, sender: str, contract: str, refusal: str) -> tuple[bytes, ContractRecord]:
        raw = self._bytes(contract)
        record = records.contract(call.store, raw)
        if record is None:
            raise sdk_failure(failures.INVALID_REQUEST, "unknown contract")
        if sender != self.governor and (not record.admin or record.admin != sender):
            raise sdk_failure(failures.UNAUTHORIZED, refusal)
        return raw, record

    def _bytes(self, address: str) -> bytes:
        try:
            return self._prefixes.account_bytes(address)
        except InvalidAddress as error:
            raise sdk_failure(failures.INVALID_ADDRESS, error.message) from None

    def _attach(self, call: Call, sender: str, contract: str, funds: Sequence[BankCoin]) -> None:
        if funds:
            call.events.extend(self._bank.send(call.store, sender, contract, funds))

    def _surroundings(self, call: Call, raw: bytes, address: str, msg: bytes) -> tuple[Deps, Env]:
        block = call.block
        store = call.store
        storage: WriteStorage
        if call.gas is None:
            storage = WriteStorage(store, raw)
        else:
            call.gas.charge(self._costs.entry + self._costs.message_byte * len(msg), "contract entry")
            storage = MeteredStorage(store, raw, call.gas, self._costs)
        env = Env(block.height, block.time_ns, block.chain_id, block.tx_index, address)
        return Deps(storage, self._querier(store, block, 0)), env

    def _querier(self, state: Reader, block: Block, depth: int) -> ChainQuerier:
        def smart(contract: str, msg: bytes) -> bytes:
            return self.query(state, block, contract, msg, depth=depth)

        return ChainQuerier(state, self._bank, self._prefixes, smart)

    def _conclude(self, call: Call, contract: str, response: Response, wrap: str | None) -> bytes | None:
        try:
            call.events.extend(own_events(contract, response))
            data = self._dispatch(call, contract, response.messages) if response.messages else None
        except ModuleFailure as failure:
            raise failure.within(wrap) from failure
        return response.data if data is None else data

    def _dispatch(self, call: Call, contract: str, messages: Sequence[SubMessage]) -> bytes | None:
        if call.depth >= MAX_CALL_DEPTH:
            raise WasmFailure(failures.CALL_DEPTH_EXCEEDED)
        data: bytes | None = None
        for sub in messages:
            overlay = Overlay(call.store)
            inner = Call(overlay, call.block, call.gas, depth=call.depth + 1)
            mode = sub.reply_on
            try:
                answer = self._run(inner, contract, sub.message)
            except ModuleFailure as failure:
                if mode is ReplyOn.SUCCESS or mode is ReplyOn.NEVER:
                    raise
                outcome = Reply(sub.id, sub.payload, error=failure.shown_to_contract())
            else:
                overlay.write(call.store)
                call.events.extend(event for event in inner.events if event.type != "message")
                if mode is ReplyOn.NEVER or mode is ReplyOn.ERROR:
                    continue
                seen = inner.events if isinstance(sub.message, _WASM_MESSAGES) else []
                events = tuple(
                    (event.type, tuple(sorted(event.attributes))) for event in seen if event.type != "message"
                )
                outcome = Reply(sub.id, sub.payload, data=answer, events=events)
            replied = self._reply(call, contract, outcome)
            if replied is not None:
                data = replied
        return data

    def _reply(self, call: Call, contract: str, outcome: Reply) -> bytes | None:
        raw, program = self._contract(call.store, contract)
        deps, env = self._surroundings(call, raw, contract, b"")
        try:
            response = _entered(lambda: program.reply(deps, env, outcome), failures.EXECUTE_FAILED)
            call.events.append(Event("reply", [("_contract_address", contract)]))
            return self._conclude(call, contract, response, "dispatch")
        except ModuleFailure as failure:
            raise failure.within("reply") from failure

    def _run(self, call: Call, contract: str, message: Message) -> bytes | None:
        match message:
            case WasmExecute():
                data = self.execute(call, contract, message.contract, message.msg, message.funds)
                return replies.execute_response(data)
            case BankSend():
                call.events.extend(self._bank.send(call.store, contract, message.to, message.coins))
                return b""
            case WasmInstantiate():
                address, data = self.instantiate(
                    call,
                    contract,
                    message.code_id,
                    message.msg,
                    label=message.label,
                    admin=message.admin,
                    funds=message.funds,
                    salt=message.salt,
                )
                return replies.instantiate_response(address, data)
            case WasmMigrate():
                data = self.migrate(call, contract, message.contract, message.new_code_id, message.msg)
                return replies.execute_response(data)
            case WasmUpdateAdmin():
                self.update_admin(call, contract, message.contract, message.admin)
                return b""
            case BankBurn():
                call.events.extend(self._bank.burn(call.store, contract, message.coins))
                return b""
            case _:
                return self._interchain.dispatch(call, contract, message)


def _missing(contract: str) -> WasmFailure:
    return WasmFailure(failures.NO_SUCH_CONTRACT, f"address {contract}")


def _entered(entry: Callable[[], Response], kind: tuple[int, str]) -> Response:
    try:
        return entry()
    except ContractError as error:
        raise WasmFailure(kind, str(error), own=True) from error
    except ContractTrap as error:
        raise failures.trap(str(error)) from error
