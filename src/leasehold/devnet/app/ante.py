"""What is checked of a transaction, and charged for it, before its messages run; in the chain's own order."""

from __future__ import annotations

import base64
from typing import Any

from leasehold.chain.registry import Registry
from leasehold.chain.transactions import Transaction
from leasehold.core.addresses import decode
from leasehold.core.clock import rfc3339
from leasehold.devnet.app import coins as coin_lists
from leasehold.devnet.app.addressing import WrongPrefix
from leasehold.devnet.app.coins import Coins, coins_text, from_proto
from leasehold.devnet.app.context import Context, Mode
from leasehold.devnet.app.errors import (
    INSUFFICIENT_FEE,
    INSUFFICIENT_FUNDS,
    INVALID_ADDRESS,
    INVALID_GAS_LIMIT,
    INVALID_PUBKEY,
    INVALID_REQUEST,
    LOGIC,
    MEMO_TOO_LARGE,
    NO_SIGNATURES,
    PANIC,
    TOO_MANY_SIGNATURES,
    TX_TIMEOUT,
    TX_TIMEOUT_HEIGHT,
    UNAUTHORIZED,
    UNKNOWN_ADDRESS,
    WRONG_SEQUENCE,
    ChainError,
    PlainError,
    undefined,
)
from leasehold.devnet.app.signatures import Signer, UnsupportedKey, Verifier, key_address, only_amino
from leasehold.devnet.app.signers import signer_addresses
from leasehold.devnet.modules.accounts import Account
from leasehold.devnet.modules.participants import lossy_text

_MAX_GAS = 2**63 - 1
_SIMULATED_SIGNATURE_BYTES = 112
# What the real chain's wider stores cost beyond ours before a message runs, so that limits bite where they do there.
_STORE_OVERHEAD = 26_000
# A simulation without a fee is charged for the one that will be paid: clients multiply by as little as 1.3.
_SIMULATED_FEE = 27_000
_UNORDERED_GAS = 2240
_UNORDERED_WINDOW_NS = 600 * 10**9
_UNORDERED = b"auth/u/"
_MULTISIG = "cosmos.crypto.multisig.LegacyAminoPubKey"


class Ante:
    """The checks, each a step that may refuse the transaction."""

    def __init__(self, registry: Registry, modules: Any) -> None:
        self._registry = registry
        self._modules = modules

    def run(self, ctx: Context, tx: Transaction) -> None:
        """All steps; raises ChainError or OutOfGas."""
        ctx.gas.consume(1000, "ReadFlat")
        ctx.gas.consume(_STORE_OVERHEAD, "ReadPerByte")
        signers = self._basics(tx)
        self._timeouts(ctx, tx)
        params = self._modules.auth.params(ctx)
        if len(tx.body.memo.encode()) > params.max_memo_characters:
            size = len(tx.body.memo.encode())
            limit = params.max_memo_characters
            raise MEMO_TOO_LARGE(f"maximum number of characters is {limit} but received {size} characters")
        self._charge_size(ctx, tx, params)
        self._fees(ctx, tx, signers)
        accounts = self._keys(ctx, tx, signers)
        self._count_signatures(ctx, tx, accounts, params)
        self._verify(ctx, tx, signers, accounts)
        if not tx.body.unordered:
            for account in accounts:
                account.sequence += 1
                self._modules.auth.save(ctx, account)

    def _basics(self, tx: Transaction) -> list[bytes]:
        """What needs no state; returns who has to sign."""
        fee = tx.auth_info.fee
        if fee.gas_limit > _MAX_GAS:
            raise INVALID_REQUEST(f"invalid gas supplied; {fee.gas_limit} > {_MAX_GAS}")
        if any(int(coin.amount or "0") < 0 for coin in fee.amount):
            raise INSUFFICIENT_FEE(f"invalid fee provided: {coins_text(from_proto(fee.amount))}")
        if fee.payer:
            try:
                self._modules.auth.plain_address_bytes(fee.payer)
            except PlainError as error:
                raise INVALID_ADDRESS(f"Invalid fee payer address ({error})") from None
        if not tx.signatures:
            raise ChainError(NO_SIGNATURES)
        signers = self._signers(tx)
        if len(tx.signatures) != len(signers):
            raise UNAUTHORIZED(f"wrong number of signers; expected {len(signers)}, got {len(tx.signatures)}")
        return signers

    def _signers(self, tx: Transaction) -> list[bytes]:
        found: dict[bytes, None] = {}
        try:
            for message in tx.messages:
                found |= dict.fromkeys(signer_addresses(self._registry, self._modules.auth.prefixes, message))
        except WrongPrefix as error:
            raise LOGIC(error.mismatch) from None
        except PlainError as error:
            raise undefined(str(error)) from None
        payer = tx.auth_info.fee.payer
        if payer:
            found[decode(payer)[1]] = None
        return list(found)

    def _timeouts(self, ctx: Context, tx: Transaction) -> None:
        body = tx.body
        if body.timeout_height and ctx.block.height > body.timeout_height:
            raise TX_TIMEOUT_HEIGHT(f"block height: {ctx.block.height}, timeout height: {body.timeout_height}")
        if body.HasField("timeout_timestamp"):
            limit = body.timeout_timestamp.seconds * 10**9 + body.timeout_timestamp.nanos
            if body.timeout_timestamp.seconds and ctx.block.time_ns > limit:
                now, then = _go_time(ctx.block.time_ns), _go_time(limit)
                raise TX_TIMEOUT(f"block time: {now}, timeout timestamp: {then}")

    def _charge_size(self, ctx: Context, tx: Transaction, params: Any) -> None:
        cost = params.tx_size_cost_per_byte
        ctx.gas.consume(cost * len(tx.raw), "txSize")
        if ctx.simulating:
            empty = sum(1 for signature in tx.signatures if not signature)
            ctx.gas.consume(cost * _SIMULATED_SIGNATURE_BYTES * empty, "txSize")

    def _fees(self, ctx: Context, tx: Transaction, signers: list[bytes]) -> None:
        info = tx.auth_info.fee
        fee = from_proto(info.amount)
        if not ctx.simulating and ctx.block.height > 0 and info.gas_limit == 0:
            raise INVALID_GAS_LIMIT("must provide positive gas")
        if ctx.mode is Mode.CHECK:
            self._modules.tax.check_fee(ctx, fee, info.gas_limit)
        payer = decode(info.payer)[1] if info.payer else signers[0]
        source = payer
        if info.granter:
            granter = self._granter(info.granter)
            if granter != payer:
                self._modules.feegrant.use(ctx, granter, payer, fee, tx.messages)
            source = granter
        if not self._modules.auth.exists(ctx, source):
            shown = lossy_text(source)
            raise UNKNOWN_ADDRESS(f"fee payer address: {shown} does not exist")
        if any(coin.amount for coin in fee):
            self._deduct(ctx, source, fee)
        elif ctx.simulating:
            ctx.gas.consume(_SIMULATED_FEE, "WritePerByte")
        payer_text = self._modules.auth.text(source)
        ctx.emit("tx", ("fee", coins_text(fee)), ("fee_payer", payer_text))
        if fee:
            self._modules.tax.collect(ctx, fee)
            ctx.emit("tx", ("fee", coins_text(fee)))

    def _granter(self, text: str) -> bytes:
        try:
            return bytes(self._modules.auth.address_bytes(text))
        except PlainError as error:
            # Nothing checked it before; the original falls over it.
            raise PANIC(f"recovered: {error}\nstack:\n") from None

    def _deduct(self, ctx: Context, source: bytes, fee: Coins) -> None:
        if not coin_lists.valid(fee):
            raise INSUFFICIENT_FEE(f"invalid fee amount: {coins_text(fee)}")
        collector = self._modules.auth.module_account(ctx, "fee_collector")
        try:
            self._modules.bank.send(ctx, source, collector, fee)
        except ChainError as error:
            # The real chain wraps the bank's error in its own kind once more.
            raise INSUFFICIENT_FUNDS(error.log) from None

    def _keys(self, ctx: Context, tx: Transaction, signers: list[bytes]) -> list[Account]:
        infos = tx.auth_info.signer_infos
        if len(infos) != len(signers):
            raise UNAUTHORIZED(f"invalid number of signer;  expected: {len(signers)}, got {len(infos)}")
        accounts = []
        for index, (signer, info) in enumerate(zip(signers, infos, strict=True)):
            self._check_key(ctx, signer, info, index)
            account = self._modules.auth.get(ctx, signer)
            if account is None:
                raise UNKNOWN_ADDRESS(f"account {self._modules.auth.text(signer)} does not exist")
            accounts.append(account)
            if info.HasField("public_key") and not account.pub_key:
                account.pub_key = info.public_key.SerializeToString()
                self._modules.auth.save(ctx, account)
        for signer, info, signature in zip(signers, infos, tx.signatures, strict=False):
            if not info.HasField("mode_info"):
                raise undefined("got empty SignatureData")
            if not tx.body.unordered:
                ctx.emit("tx", ("acc_seq", f"{self._modules.auth.text(signer)}/{info.sequence}"))
            for part in self._flat_signatures(info.mode_info, signature):
                ctx.emit("tx", ("signature", base64.b64encode(part).decode()))
        return accounts

    def _check_key(self, ctx: Context, signer: bytes, info: Any, index: int) -> None:
        """A key that comes along must be the signer's, whether or not there is an account."""
        if not info.HasField("public_key"):
            return
        key = self._registry.unpack(info.public_key)
        try:
            matches = key_address(self._registry, key) == signer
        except UnsupportedKey:
            # Nobody's address is made from it here.
            matches = False
        if not matches and not ctx.simulating:
            text = self._modules.auth.text(signer)
            raise INVALID_PUBKEY(f"pubKey does not match signer address {text} with signer index: {index}")

    def _flat_signatures(self, mode_info: Any, signature: bytes) -> list[bytes]:
        """The signature itself, or for a multisig every part followed by its own encoding."""
        if mode_info.WhichOneof("sum") != "multi":
            return [signature]
        parts = self._registry.parse("cosmos.crypto.multisig.v1beta1.MultiSignature", signature).signatures
        inner = zip(mode_info.multi.mode_infos, parts, strict=False)
        return [flat for mode, part in inner for flat in self._flat_signatures(mode, part)] + [signature]

    def _count_signatures(self, ctx: Context, tx: Transaction, accounts: list[Account], params: Any) -> None:
        infos = tx.auth_info.signer_infos
        count = 0
        for info in infos:
            if info.HasField("public_key"):
                count += len(self._single_keys(info.public_key.SerializeToString()))
            if count > params.tx_sig_limit:
                raise TOO_MANY_SIGNATURES(f"signatures: {count}, limit: {params.tx_sig_limit}")
        for account, info in zip(accounts, infos, strict=True):
            for name in self._checked_keys(ctx, account, info):
                if name == "cosmos.crypto.ed25519.PubKey":
                    ctx.gas.consume(params.sig_verify_cost_ed25519, "ante verify: ed25519")
                else:
                    ctx.gas.consume(params.sig_verify_cost_secp256k1, "ante verify: secp256k1")

    def _checked_keys(self, ctx: Context, account: Account, info: Any) -> list[str]:
        """Kinds of the single keys that are going to be verified."""
        if not account.pub_key and not ctx.simulating:
            # Neither the account nor the transaction has one; the original prints the type of nothing.
            raise INVALID_PUBKEY("unrecognized public key type: <nil>")
        keys = self._single_keys(account.pub_key)
        if self._is_multisig(account.pub_key) and info.mode_info.WhichOneof("sum") != "multi":
            raise undefined("expected *signing.MultiSignatureData, got, *signing.SingleSignatureData")
        return keys

    def _is_multisig(self, packed: bytes) -> bool:
        return bool(packed) and self._registry.parse("google.protobuf.Any", packed).type_url == f"/{_MULTISIG}"

    def _single_keys(self, packed: bytes) -> list[str]:
        if not packed:
            return ["cosmos.crypto.secp256k1.PubKey"]
        key = self._registry.unpack(self._registry.parse("google.protobuf.Any", packed))
        name = key.DESCRIPTOR.full_name
        if name != _MULTISIG:
            return [name]
        return [inner for part in key.public_keys for inner in self._single_keys(part.SerializeToString())]

    def _verify(self, ctx: Context, tx: Transaction, signers: list[bytes], accounts: list[Account]) -> None:
        verifier = Verifier(self._registry, tx)
        if tx.body.unordered:
            self._check_unordered(ctx, tx, signers)
        for account, info, signature in zip(accounts, tx.auth_info.signer_infos, tx.signatures, strict=True):
            if tx.body.unordered:
                if info.sequence != 0:
                    raise INVALID_REQUEST("sequence is not allowed for unordered transactions")
            elif info.sequence != account.sequence:
                raise WRONG_SEQUENCE(f"account sequence mismatch, expected {account.sequence}, got {info.sequence}")
            if ctx.simulating or ctx.mode is Mode.RECHECK:
                continue
            key = self._registry.unpack(self._registry.parse("google.protobuf.Any", account.pub_key))
            number = account.number if ctx.block.height > 0 else 0
            signer = Signer(
                chain_id=ctx.block.chain_id,
                account_number=number,
                sequence=info.sequence,
                address=self._modules.auth.text(account.address),
                payer=tx.auth_info.fee.payer or self._modules.auth.text(signers[0]),
            )
            refusal = verifier.refusal(key, info.mode_info, signature, signer)
            if refusal is not None:
                raise UNAUTHORIZED(_unverified(info, account, signer, refusal))

    def _check_unordered(self, ctx: Context, tx: Transaction, signers: list[bytes]) -> None:
        body = tx.body
        if not body.timeout_timestamp.seconds:
            raise INVALID_REQUEST("unordered transaction must have timeout_timestamp set")
        limit = body.timeout_timestamp.seconds * 10**9 + body.timeout_timestamp.nanos
        if limit < ctx.block.time_ns:
            raise INVALID_REQUEST("unordered transaction has a timeout_timestamp that has already passed")
        if limit > ctx.block.time_ns + _UNORDERED_WINDOW_NS:
            raise INVALID_REQUEST("unordered tx ttl exceeds 10m0s")
        if ctx.simulating or ctx.mode is Mode.RECHECK:
            ctx.gas.consume(_UNORDERED_GAS, "unordered tx")
            return
        ctx.gas.consume(_UNORDERED_GAS, "unordered tx")
        for signer in signers:
            key = _UNORDERED + limit.to_bytes(8, "big") + signer
            with ctx.unmetered():
                if ctx.store.get(key) is not None:
                    text = self._modules.auth.text(signer)
                    raise INVALID_REQUEST(
                        f"failed to add unordered nonce: sender {text} has already used timeout {limit}"
                    )
                ctx.store.set(key, b"")

    def drop_expired(self, ctx: Context) -> None:
        """Forget unordered nonces whose time is over; run at the start of every block."""
        end = _UNORDERED + ctx.block.time_ns.to_bytes(8, "big")
        for key in [key for key, _ in ctx.store.iterate(_UNORDERED, end)]:
            ctx.store.delete(key)


def _unverified(info: Any, account: Account, signer: Signer, refusal: str) -> str:
    """Why a signature does not count; who signs amino JSON alone may also have signed another sequence."""
    head = f"signature verification failed; please verify account number ({signer.account_number})"
    if only_amino(info.mode_info):
        return f"{head}, sequence ({account.sequence}) and chain-id ({signer.chain_id})"
    return f"{head} and chain-id ({signer.chain_id}): ({refusal})"


def _go_time(nanoseconds: int) -> str:
    """An instant as Go prints it."""
    return rfc3339(nanoseconds).replace("T", " ").removesuffix("Z") + " +0000 UTC"
