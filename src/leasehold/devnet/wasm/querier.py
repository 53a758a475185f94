"""Reads a contract may make of the rest of the chain, at the state and block it runs in."""

from __future__ import annotations

from collections.abc import Callable

from leasehold.core.addresses import Bech32Prefixes, InvalidAddress
from leasehold.devnet.state.store import Reader
from leasehold.devnet.wasm import records
from leasehold.devnet.wasm.contract import BankCoin, ContractInfo
from leasehold.devnet.wasm.failures import NO_SUCH_CONTRACT, ModuleFailure, QuerierError
from leasehold.devnet.wasm.host import Bank


class ChainQuerier:
    """Querier over one state; `smart` is the runtime's own query, one level deeper."""

    __slots__ = ("_bank", "_prefixes", "_smart", "_state")

    def __init__(
        self, state: Reader, bank: Bank, prefixes: Bech32Prefixes, smart: Callable[[str, bytes], bytes]
    ) -> None:
        self._state = state
        self._bank = bank
        self._prefixes = prefixes
        self._smart = smart

    def smart(self, contract: str, msg: bytes) -> bytes:
        try:
            return self._smart(contract, msg)
        except ModuleFailure as failure:
            if (failure.codespace, failure.code) == ("wasm", NO_SUCH_CONTRACT[0]):
                raise QuerierError(f"No such contract: {contract}", system=True) from None
            raise QuerierError(failure.shown_to_contract()) from None

    def contract_info(self, contract: str) -> ContractInfo:
        try:
            address = self._prefixes.account_bytes(contract)
        except InvalidAddress:
            raise QuerierError("codespace: sdk, code: 7") from None
        record = records.contract(self._state, address)
        if record is None:
            raise QuerierError(f"No such contract: {contract}", system=True)
        return ContractInfo(record.code_id, record.creator, record.admin or None)

    def code_checksum(self, code_id: int) -> bytes:
        record = records.code(self._state, code_id)
        if record is None:
            raise QuerierError(f"No such code: {code_id}", system=True)
        return record.checksum

    def balance(self, address: str, denom: str) -> int:
        return self._bank.balance(self._state, address, denom)

    def balances(self, address: str) -> tuple[BankCoin, ...]:
        return self._bank.balances(self._state, address)

    def address_valid(self, address: str) -> bool:
        try:
            self._prefixes.account_bytes(address)
        except InvalidAddress:
            return False
        return True

    def canonical(self, address: str) -> bytes:
        return self._prefixes.account_bytes(address)

    def human(self, canonical: bytes) -> str:
        return self._prefixes.account_text(canonical)
