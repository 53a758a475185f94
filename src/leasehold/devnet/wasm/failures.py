"""How operations on contracts fail, with the codespace, code and text a chain reports.

ModuleFailure
└── WasmFailure     the wasm module refused, or a contract behind it did
"""

from __future__ import annotations

from leasehold.devnet.wasm.contract import ContractError

INSTANTIATE_FAILED = (4, "instantiate wasm contract failed")
EXECUTE_FAILED = (5, "execute wasm contract failed")
QUERY_FAILED = (9, "query wasm contract failed")
MIGRATE_FAILED = (11, "migrate wasm contract failed")
DUPLICATE = (15, "duplicate")
INVALID_EVENT = (21, "invalid event")
NO_SUCH_CONTRACT = (22, "no such contract")
QUERY_STACK_EXCEEDED = (27, "max query stack size exceeded")
NO_SUCH_CODE = (28, "no such code")
VM_ERROR = (29, "wasmvm error")
CALL_DEPTH_EXCEEDED = (30, "max call depth exceeded")

UNAUTHORIZED = (4, "unauthorized")
INVALID_ADDRESS = (7, "invalid address")
INVALID_REQUEST = (18, "invalid request")

_TRAP = "Error calling the VM: Error executing Wasm: Wasmer runtime error: RuntimeError: Aborted: "


class ModuleFailure(Exception):
    """A module refused: nothing of the operation may stay; raised by banks and interchain handlers too."""

    def __init__(self, codespace: str, code: int, text: str) -> None:
        super().__init__(text)
        self.codespace = codespace
        self.code = code
        self.text = text

    def __str__(self) -> str:
        return self.text

    def shown_to_contract(self) -> str:
        """What a contract that asked for a reply is told: nothing that could differ between nodes."""
        return f"codespace: {self.codespace}, code: {self.code}"

    def within(self, wrap: str | None) -> ModuleFailure:
        """The same failure seen from the contract whose message it was."""
        return ModuleFailure(self.codespace, self.code, f"{wrap}: {self.text}" if wrap else self.text)


class WasmFailure(ModuleFailure):
    """A wasm operation failed; `own` is true while it is the called contract's own refusal."""

    def __init__(self, kind: tuple[int, str], text: str = "", *, own: bool = False) -> None:
        code, name = kind
        super().__init__("wasm", code, f"{text}: {name}" if text else name)
        self.own = own

    def shown_to_contract(self) -> str:
        """A contract's own refusal is told in full, a deeper one by its code only."""
        return self.text if self.own else super().shown_to_contract()


def sdk_failure(kind: tuple[int, str], text: str) -> ModuleFailure:
    """A failure of the chain's common codespace."""
    code, name = kind
    return ModuleFailure("sdk", code, f"{text}: {name}")


def trap(text: str) -> WasmFailure:
    """An aborted contract."""
    return WasmFailure(VM_ERROR, _TRAP + text)


class QuerierError(ContractError):
    """A read of the rest of the chain failed; `system` when there was nobody to answer, else `text` is the answer."""

    def __init__(self, text: str, *, system: bool = False) -> None:
        super().__init__(f"kind: Other, error: Querier {'system' if system else 'contract'} error: {text}")
        self.text = text
        self.system = system
