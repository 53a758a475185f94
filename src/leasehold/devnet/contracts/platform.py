"""What contracts check and write alike: who calls, what coins came, and how events are opened.

Texts are those of the real contracts; each caller puts its own tag in front.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from leasehold.devnet.contracts.native import Case
from leasehold.devnet.wasm.contract import BankCoin, ContractError, Env, Event, Querier, WasmExecute
from leasehold.protocol.currencies import Currency
from leasehold.protocol.errors import Refused
from leasehold.protocol.messages.values import SoftwareRelease
from leasehold.protocol.serde import Codec, Empty, Wire

UNAUTHORIZED = "[Access Control] Unauthorized access!"
INVALID_ADDRESS = "kind: Other, error: parse failed"


def check_sender(case: Case, allowed: str, tag: str) -> None:
    """Refuse anyone but one address."""
    if case.info.sender != allowed:
        raise ContractError(f"{tag} {UNAUTHORIZED}")


def check_contract(querier: Querier, address: str, tag: str) -> int:
    """Code id of a contract; an address without one is refused."""
    try:
        return querier.contract_info(address).code_id
    except ContractError as error:
        text = f"{tag} [Platform] [Std] An error occured while querying contract info: {error}"
        raise ContractError(text) from error


def check_code(querier: Querier, address: str, code_id: int, tag: str) -> None:
    """Refuse a contract of another code."""
    if check_contract(querier, address, tag) != code_id:
        raise ContractError(f"{tag} [Platform] Expecting code id {code_id} for the contract {address}")


def checked_code(querier: Querier, code_id: int, tag: str) -> int:
    """The code id itself, refused when no such code is stored."""
    try:
        querier.code_checksum(code_id)
    except ContractError as error:
        text = f"{tag} [Platform] [Std] An error occured while querying code info: {error}"
        raise ContractError(text) from error
    return code_id


def checked_address(querier: Querier, address: str, tag: str) -> str:
    """The address itself, refused when it is none of this chain."""
    if not querier.address_valid(address):
        raise ContractError(f"{tag} [Std] {INVALID_ADDRESS}")
    return address


def one_coin(funds: Sequence[BankCoin], currency: Currency, tag: str) -> int:
    """The amount of the only coin sent, which must be of one currency."""
    if not funds:
        raise ContractError(f"{tag} [Platform] Expecting funds of {currency.ticker} but found none")
    if len(funds) > 1:
        raise ContractError(f"{tag} [Platform] Expecting funds of {currency.ticker} but found extra ones")
    if funds[0].denom != currency.bank_symbol:
        raise ContractError(
            f"{tag} [Platform] [Currency] Found a symbol '{funds[0].denom}' pretending to be the bank symbol of the"
            f" currency with ticker '{currency.ticker}'"
        )
    return funds[0].amount


def transaction_event(kind: str, env: Env) -> Event:
    """An event that opens with height, time and transaction index."""
    attributes = [("height", str(env.height)), ("at", str(env.time_ns)), ("idx", str(env.tx_index))]
    return Event(kind, attributes)


def emit_coin(event: Event, key: str, amount: int, ticker: str) -> None:
    """Add a coin's two attributes."""
    event.attributes.append((f"{key}-amount", str(amount)))
    event.attributes.append((f"{key}-symbol", ticker))


def time_alarm(timealarms: str, at_ns: int) -> WasmExecute:
    """The message that sets the sender's time alarm."""
    return WasmExecute(timealarms, b'{"add_alarm":{"time":"%d"}}' % at_ns)


class PlatformMigration(Wire, frozen=True):
    """How a contract of the platform is told to migrate."""

    rust_name: ClassVar[str] = "MigrationMessage"
    migrate_from: SoftwareRelease
    to_release: str
    message: Empty


def check_platform_migration(codec: Codec, current: SoftwareRelease, msg: bytes) -> None:
    """Refuse a migration that aims at another release or comes from another package."""
    migration = codec.decode(PlatformMigration, msg)
    if migration.to_release != current.id:
        raise Refused(
            "[Versioning] The package release does not match the currently migration target! The current package's"
            f' release is "{current.id}", the release being migrated to is "{migration.to_release}".'
        )
    before = migration.migrate_from.code.name
    if before != current.code.name:
        raise Refused(
            f'[Versioning] The package names do not match! The current package is "{before}", the new package is'
            f' "{current.code.name}".'
        )


def storage_key_text(namespace: str, key: bytes) -> str:
    """How the real contracts' storage prints a key it did not find."""
    raw = len(namespace).to_bytes(2, "big") + namespace.encode() + key
    return "[" + ", ".join(f"{byte:02X}" for byte in raw) + "]"
