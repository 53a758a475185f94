"""What is checked of a transaction, and charged for it, before its messages run; in the chain's own order."""

from __future__ import annotations

import base64
from typing import Any

from leasehold.chain.registry import MalformedMessage, Registry
from leasehold.chain.transactions import LEGACY_AMINO_JSON, Transaction, UnsupportedSignMode
from leasehold.core.addresses import decode
from leasehold.core.clock import rfc3339
from leasehold.devnet.app.coins import Coins, coins_text, from_proto
from leasehold.devnet.app.context import Context, Mode
from leasehold.devnet.app.errors import (
    INSUFFICIENT_FEE,
    INSUFFICIENT_FUNDS,
    INVALID_COINS,
    INVALID_GAS_LIMIT,
    INVALID_PUBKEY,
    INVALID_REQUEST,
    MEMO_TOO_LARGE,
    NO_SIGNATURES,
    TOO_MANY_SIGNATURES,
    TX_TIMEOUT,
    TX_TIMEOUT_HEIGHT,
    UNAUTHORIZED,
    UNKNOWN_ADDRESS,
    WRONG_SEQUENCE,
    ChainError,
)
from leasehold.devnet.app.signatures import Signer, UnsupportedKey, Verifier, key_address
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


class Ante:
    """The checks, each a step that may refuse the transaction."""

    def __init__(self, registry: Registry, modules: Any) -> None:
        self._registry = registry
        self._modules = modules

    def run(self, ctx: Context, tx: Transaction) -> None:
        """All steps; raises ChainError or OutOfGas."""
        ctx.gas.consume(1000, "ReadFlat")
        ctx.gas.consume(_STORE_OVERHEAD, "ReadPerByte")
        signers = self._signers(tx)
        self._basics(tx, signers)
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

    def _signers(self, tx: Transaction) -> list[bytes]:
        found: dict[bytes, None] = {}
        for message in tx.messages:
            for text in self._registry.signers(message):
                found[decode(text)[1]] = None
        payer = tx.auth_info.fee.payer
        if payer:
            found[decode(payer)[1]] = None
        return list(found)

    def _basics(self, tx: Transaction, signers: list[bytes]) -> None:
        fee = tx.auth_info.fee
        if fee.gas_limit > _MAX_GAS:
            raise INVALID_REQUEST(f"invalid gas supplied; {fee.gas_limit} > {_MAX_GAS}")
        if any(int(coin.amount or "0") < 0 for coin in fee.amount):
            raise INSUFFICIENT_FEE(f"invalid fee provided: {coins_text(from_proto(fee.amount))}")
        if not tx.signatures:
            raise ChainError(NO_SIGNATURES)
        if len(tx.signatures) != len(signers):
            raise UNAUTHORIZED(f"wrong number of signers; expected {len(signers)}, got {len(tx.signatures)}")

    def _timeouts(self, ctx: Context, tx: Transaction) -> None:
        body = tx.body
        if body.timeout_height and ctx.block.height > body.timeout_height:
            raise TX_TIMEOUT_HEIGHT(f"block height: {ctx.block.height}, timeout height: {body.timeout_height}")
        if body.HasField("timeout_timestamp"):
            limit = body.timeout_timestamp.seconds * 10**9 + body.timeout_timestamp.nanos
            if limit and ctx.block.time_ns > limit:
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
            granter = decode(info.granter)[1]
            if granter != payer:
                self._modules.feegrant.use(ctx, granter, payer, fee, tx.messages)
            source = granter
        if not self._modules.auth.exists(ctx, source):
            shown = lossy_text(source)
            raise UNKNOWN_ADDRESS(f"fee payer address: {shown} does not exist")
        if fee:
            self._deduct(ctx, source, fee)
        elif ctx.simulating:
            ctx.gas.consume(_SIMULATED_FEE, "WritePerByte")
        payer_text = self._modules.auth.text(source)
        ctx.emit("tx", ("fee", coins_text(fee)), ("fee_payer", payer_text))
        if fee:
            self._modules.tax.collect(ctx, fee)
            ctx.emit("tx", ("fee", coins_text(fee)))

    def _deduct(self, ctx: Context, source: bytes, fee: Coins) -> None:
        if any(coin.amount <= 0 for coin in fee):
            raise INSUFFICIENT_FEE(f"invalid fee amount: {coins_text(fee)}")
        collector = self._modules.auth.module_account(ctx, "fee_collector")
        try:
            self._modules.bank.send(ctx, source, collector, fee)
        except ChainError as error:
            # The real chain wraps the bank's error in its own kind once more.
            if error.kind == INVALID_COINS:
                raise
            raise INSUFFICIENT_FUNDS(error.log) from None

    def _keys(self, ctx: Context, tx: Transaction, signers: list[bytes]) -> list[Account]:
        infos = tx.auth_info.signer_infos
        if len(infos) != len(signers):
            raise UNAUTHORIZED(f"invalid number of signer;  expected: {len(signers)}, got {len(infos)}")
        accounts = []
        for index, (signer, info) in enumerate(zip(signers, infos, strict=True)):
            account = self._modules.auth.get(ctx, signer)
            if account is None:
                raise UNKNOWN_ADDRESS(f"account {self._modules.auth.text(signer)} does not exist")
            accounts.append(account)
            if not info.HasField("public_key"):
                continue
            key = self._registry.unpack(info.public_key)
            try:
                matches = key_address(self._registry, key) == signer
            except UnsupportedKey:
                raise INVALID_PUBKEY(f"unrecognized public key type: {key.DESCRIPTOR.full_name}") from None
            if not matches and not ctx.simulating:
                text = self._modules.auth.text(signer)
                raise INVALID_PUBKEY(f"pubKey does not match signer address {text} with signer index: {index}")
            if not account.pub_key:
                account.pub_key = info.public_key.SerializeToString()
                self._modules.auth.save(ctx, account)
        for signer, info, signature in zip(signers, infos, tx.signatures, strict=False):
            if not tx.body.unordered:
                ctx.emit("tx", ("acc_seq", f"{self._modules.auth.text(signer)}/{info.sequence}"))
            for part in self._flat_signatures(info.mode_info, signature):
                ctx.emit("tx", ("signature", base64.b64encode(part).decode()))
        return accounts

    def _flat_signatures(self, mode_info: Any, signature: bytes) -> list[bytes]:
        """The signature itself, or for a multisig every part followed by its own encoding."""
        if mode_info.WhichOneof("sum") != "multi":
            return [signature]
        parts = self._registry.parse("cosmos.crypto.multisig.v1beta1.MultiSignature", signature).signatures
        inner = zip(mode_info.multi.mode_infos, parts, strict=False)
        return [flat for mode, part in inner for flat in self._flat_signatures(mode, part)] + [signature]

    def _count_signatures(self, ctx: Context, tx: Transaction, accounts: list[Account], params: Any) -> None:
        count = 0
        for account, info in zip(accounts, tx.auth_info.signer_infos, strict=True):
            packed = account.pub_key or (info.public_key.SerializeToString() if info.HasField("public_key") else b"")
            keys = self._single_keys(packed)
            count += len(keys)
            if count > params.tx_sig_limit:
                raise TOO_MANY_SIGNATURES(f"signatures: {count}, limit: {params.tx_sig_limit}")
            for name in keys:
                if name == "cosmos.crypto.ed25519.PubKey":
                    ctx.gas.consume(params.sig_verify_cost_ed25519, "ante verify: ed25519")
                else:
                    ctx.gas.consume(params.sig_verify_cost_secp256k1, "ante verify: secp256k1")

    def _single_keys(self, packed: bytes) -> list[str]:
        if not packed:
            return ["cosmos.crypto.secp256k1.PubKey"]
        key = self._registry.unpack(self._registry.parse("google.protobuf.Any", packed))
        name = key.DESCRIPTOR.full_name
        if name != "cosmos.crypto.multisig.LegacyAminoPubKey":
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
            if not account.pub_key:
                raise INVALID_PUBKEY("pubkey on account is not set")
            key = self._registry.unpack(self._registry.parse("google.protobuf.Any", account.pub_key))
            number = account.number if ctx.block.height > 0 else 0
            signer = Signer(
                chain_id=ctx.block.chain_id,
                account_number=number,
                sequence=info.sequence,
            )
            if not verifier.verify(key, info.mode_info, signature, signer):
                raise UNAUTHORIZED(self._refusal(info, number, account, ctx, verifier, signature, signer))

    def _refusal(
        self,
        info: Any,
        number: int,
        account: Account,
        ctx: Context,
        verifier: Verifier,
        signature: bytes,
        signer: Signer,
    ) -> str:
        mode = info.mode_info.single.mode
        chain_id = ctx.block.chain_id
        if info.mode_info.WhichOneof("sum") == "multi" or mode == LEGACY_AMINO_JSON:
            return (
                f"signature verification failed; please verify account number ({number}), "
                f"sequence ({account.sequence}) and chain-id ({chain_id})"
            )
        try:
            signed = verifier.sign_bytes(mode, signer)
        except (UnsupportedSignMode, MalformedMessage):
            signed = b""
        return (
            f"signature verification failed; please verify account number ({number}) and chain-id ({chain_id}): "
            f"(unable to verify single signer signature {signature.hex()} for signBytes {signed.hex()})"
        )

    def _check_unordered(self, ctx: Context, tx: Transaction, signers: list[bytes]) -> None:
        body = tx.body
        if not body.HasField("timeout_timestamp"):
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


def _go_time(nanoseconds: int) -> str:
    """An instant as Go prints it."""
    return rfc3339(nanoseconds).replace("T", " ").removesuffix("Z") + " +0000 UTC"
