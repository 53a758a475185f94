"""Builders of SVM transactions: a token account, and sends to our chain.

A send's instruction has a layout of our own under a configurable program (see `leasehold.chain.svm.programs`): the
public program's is not published. Given the same blockhash the bytes are the same. Nothing leaves that the node's own
simulation does not carry out.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import Literal

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.gating.documents import SvmNetwork
from leasehold.app_api.inputs import require_own
from leasehold.app_api.resources.currencies import CurrencyInfo
from leasehold.app_api.upstreams.svm import is_svm_address, unconfigured
from leasehold.app_api.writes import checks, svm_node
from leasehold.chain.svm import programs
from leasehold.chain.svm.addresses import address_bytes, decode
from leasehold.chain.svm.transactions import MAX_BYTES, Instruction, compiled, unsigned
from leasehold.core.addresses import InvalidAddress
from leasehold.core.errors import InvalidInput, NotReady
from leasehold.serving.routes import NoParams, Registry, Request

UNIT_LIMIT = 200_000
UNIT_PRICE = 1_000
LARGEST_SEND = 2**64 - 1
_PROTOCOLS = "SOLANA-"
_CHANNEL = "channel-"
Kind = Literal["Source", "Sink"]


class TimeoutHeight(msgspec.Struct, frozen=True):
    revision_number: checks.U63
    revision_height: checks.U63


class SendTimeout(msgspec.Struct, frozen=True):
    """A height, an instant in nanoseconds since the epoch, or both."""

    height: TimeoutHeight | None = None
    timestamp: checks.U63 | None = None


class BuildCreateAtaRequest(msgspec.Struct):
    owner: str
    currency: str


class BuildSendRequest(msgspec.Struct):
    """`amount` in base units of `currency`, which is a key of the currencies."""

    sender: str
    recipient: str
    currency: str
    amount: str
    timeout: SendTimeout


class TransactionFees(msgspec.Struct):
    compute_unit_limit: int
    compute_unit_price_micro_lamports: int


class TransactionSummary(msgspec.Struct):
    """What a wallet shows before it signs."""

    operation: str
    asset: str
    amount: str
    destination: str
    fees: TransactionFees


class BuildTransactionResponse(msgspec.Struct):
    """An unsigned transaction in base64, and what it does."""

    transaction: str
    summary: TransactionSummary


@dataclass(frozen=True, slots=True)
class Program:
    """Where sends go: the program, and the channel to our chain."""

    id: bytes
    channel: int


def program_of(app: App) -> Program:
    """The program of the configured SVM network, else the one of this stack."""
    gated = app.cells.gated.get()
    networks = gated.networks.values() if gated is not None else ()
    found = next((one for one in networks if isinstance(one, SvmNetwork)), None)
    if found is None:
        return Program(address_bytes(app.settings.upstreams.svm_program_id), 0)
    ordinal = found.transfer_channel_id.removeprefix(_CHANNEL)
    try:
        channel = int(ordinal)
        return Program(address_bytes(found.program_id), channel if channel < 2**16 else 0)
    except (InvalidAddress, ValueError) as error:
        raise NotReady("the svm network's program or channel is not one", hint="see network-config") from error


def currency(app: App, key: str) -> CurrencyInfo:
    """A currency of an SVM protocol by its key."""
    found = app.cells.currencies.value.by_key.get(key)
    if found is None or not found.protocol.upper().startswith(_PROTOCOLS):
        raise InvalidInput(f"unknown or non-SOLANA-protocol currency: {key}", field="currency")
    return found


def svm_address(text: str, field: str) -> bytes:
    if not is_svm_address(text):
        raise InvalidInput(f"Invalid {field} format", field=field)
    return address_bytes(text, field=field)


def mint_of(info: CurrencyInfo, program: Program) -> bytes:
    """Mint of a currency; of what comes from our chain, the voucher that the program mints for its denom."""
    try:
        return address_bytes(info.dex_symbol)
    except InvalidAddress:
        return programs.voucher_mint(program.id, info.bank_symbol)


def kind_of(info: CurrencyInfo) -> Kind:
    """Where a currency is at home: what our chain holds as a voucher is native to the SVM chain."""
    return "Source" if info.bank_symbol.startswith("ibc/") else "Sink"


async def composed(
    app: App, payer: bytes, instruction: Instruction, summary: TransactionSummary
) -> BuildTransactionResponse:
    """A transaction that the node's simulation carries out."""
    transport = app.upstreams.svm.transport
    if not transport.configured:
        raise unconfigured()
    blockhash = await svm_node.latest_blockhash(transport)
    try:
        recent = decode(blockhash)
    except ValueError as error:
        raise transport.unreadable("getLatestBlockhash", error) from error
    if len(recent) != 32:
        raise transport.unreadable("getLatestBlockhash")
    budget = programs.compute_budget(UNIT_LIMIT, UNIT_PRICE)
    transaction = unsigned(compiled(payer, recent, [*budget, instruction]))
    if len(transaction) > MAX_BYTES:
        raise InvalidInput("the transaction is too large", field="recipient")
    await svm_node.simulate(transport, transaction)
    return BuildTransactionResponse(b64encode(transaction).decode(), summary)


def _summary(operation: str, info: CurrencyInfo, amount: str, destination: str) -> TransactionSummary:
    return TransactionSummary(operation, info.ticker, amount, destination, TransactionFees(UNIT_LIMIT, UNIT_PRICE))


async def create_account(app: App, asked: BuildCreateAtaRequest) -> BuildTransactionResponse:
    """Create the owner's token account of a currency; nothing happens where it exists."""
    info = currency(app, asked.currency)
    owner = svm_address(asked.owner, "owner")
    instruction = programs.create_associated_account(owner, mint_of(info, program_of(app)))
    return await composed(app, owner, instruction, _summary("CreateAta", info, "0", asked.owner))


async def send(app: App, asked: BuildSendRequest, kind: Kind) -> BuildTransactionResponse:
    """Send tokens to our chain, the way their home asks for."""
    info = currency(app, asked.currency)
    sender = svm_address(asked.sender, "sender")
    try:
        require_own(asked.recipient, app.settings.identity.prefix, app.brand, "recipient")
    except InvalidInput:
        raise InvalidInput("Invalid recipient format", field="recipient") from None
    amount = int(checks.amount(asked.amount))
    height, instant = asked.timeout.height, asked.timeout.timestamp
    if height is None and instant is None:
        raise InvalidInput("a send timeout must carry a height, a timestamp, or both", field="timeout")
    actual = kind_of(info)
    if actual != kind:
        raise InvalidInput(
            f"currency {asked.currency} resolves to {actual}, not the {kind} this endpoint composes", field="currency"
        )
    if amount > LARGEST_SEND:
        raise InvalidInput("amount must fit 64 bits", field="amount")
    program = program_of(app)
    what = programs.Send(
        kind=programs.SOURCE if kind == "Source" else programs.SINK,
        channel=program.channel,
        amount=amount,
        timeout_revision=height.revision_number if height else 0,
        timeout_height=height.revision_height if height else 0,
        timeout_ns=instant or 0,
        recipient=asked.recipient,
        denom=info.bank_symbol if kind == "Sink" else "",
    )
    instruction = programs.send(program.id, sender, mint_of(info, program), what)
    return await composed(app, sender, instruction, _summary(f"Send{kind}", info, asked.amount, asked.recipient))


def declare(api: Registry, app: App) -> None:
    """The builders of SVM transactions."""
    tags, errors = ("solana",), (400, 502, 503)

    @api.post(
        "/api/solana/tx/create-ata",
        summary="Build a token account",
        tags=tags,
        operation_id="build_create_ata",
        errors=errors,
    )
    async def create_ata(request: Request[NoParams, BuildCreateAtaRequest]) -> BuildTransactionResponse:
        return await create_account(app, request.body)

    @api.post(
        "/api/solana/tx/send-source",
        summary="Build a send of tokens at home there",
        tags=tags,
        operation_id="build_send_source",
        errors=errors,
    )
    async def send_source(request: Request[NoParams, BuildSendRequest]) -> BuildTransactionResponse:
        return await send(app, request.body, "Source")

    @api.post(
        "/api/solana/tx/send-sink",
        summary="Build a send of tokens at home here",
        tags=tags,
        operation_id="build_send_sink",
        errors=errors,
    )
    async def send_sink(request: Request[NoParams, BuildSendRequest]) -> BuildTransactionResponse:
        return await send(app, request.body, "Sink")
