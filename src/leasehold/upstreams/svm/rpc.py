"""The stand-in's JSON-RPC: the methods the solana routes use, those a wallet needs to send, and a faucet."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from leasehold.chain.svm import addresses
from leasehold.chain.svm.programs import TOKEN
from leasehold.chain.svm.transactions import InvalidTransaction, Transaction, parse
from leasehold.core.errors import InvalidInput
from leasehold.core.money import plain, units
from leasehold.serving.routes import NoParams, Registry, Reply, Request
from leasehold.upstreams.svm.cluster import BLOCKHASH_SLOTS, EPOCH_SLOTS
from leasehold.upstreams.svm.execution import TOKEN_ACCOUNT_RENT
from leasehold.upstreams.svm.ledger import Outcome, SvmLedger, is_signed

API_VERSION = "2.0"
MAX_BATCH = 100
MAX_AIRDROP = 10_000 * 10**9
LARGEST = 2**64 - 1
_RENT_PER_BYTE, _ACCOUNT_OVERHEAD = 6960, 128
PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
PREFLIGHT_FAILURE, SIGNATURE_FAILURE = -32002, -32003

Params = list[Any]


class RpcError(Exception):
    """An error of the JSON-RPC kind."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class SvmRpc:
    """Answers calls from the ledger."""

    def __init__(self, ledger: SvmLedger) -> None:
        self._ledger = ledger
        self._methods: dict[str, Callable[[Params], Awaitable[Any]]] = {
            "getHealth": self._health,
            "getVersion": self._version,
            "getSlot": self._slot,
            "getBlockHeight": self._slot,
            "getEpochInfo": self._epoch_info,
            "getLatestBlockhash": self._latest_blockhash,
            "isBlockhashValid": self._is_blockhash_valid,
            "getBalance": self._balance,
            "getAccountInfo": self._account_info,
            "getTokenAccountsByOwner": self._token_accounts,
            "getTokenAccountBalance": self._token_balance,
            "getMinimumBalanceForRentExemption": self._rent,
            "simulateTransaction": self._simulate,
            "sendTransaction": self._send,
            "getSignatureStatuses": self._statuses,
            "getTransaction": self._transaction,
            "requestAirdrop": self._airdrop,
            # Not a method of real nodes: it stands for whoever issues the tokens.
            "standinMintTo": self._mint_to,
        }

    async def answer(self, body: bytes) -> Any:
        """The answer to a request or a batch of them."""
        try:
            asked = msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return _error(None, RpcError(PARSE_ERROR, "Parse error"))
        if isinstance(asked, list):
            if not 0 < len(asked) <= MAX_BATCH:
                return _error(None, RpcError(INVALID_REQUEST, f"a batch has 1 to {MAX_BATCH} requests"))
            return [await self._one(one) for one in asked]
        return await self._one(asked)

    async def _one(self, asked: Any) -> Any:
        number = asked.get("id") if isinstance(asked, dict) else None
        try:
            if not isinstance(asked, dict) or not isinstance(asked.get("method"), str):
                raise RpcError(INVALID_REQUEST, "Invalid request")
            params = asked.get("params", [])
            if not isinstance(params, list):
                raise RpcError(INVALID_PARAMS, "Invalid params: expected an array")
            method = self._methods.get(asked["method"])
            if method is None:
                raise RpcError(UNKNOWN_METHOD, "Method not found")
            return {"jsonrpc": "2.0", "id": number, "result": await method(params)}
        except RpcError as error:
            return _error(number, error)
        except InvalidInput as error:
            return _error(number, RpcError(INVALID_PARAMS, f"Invalid params: {error.message}"))

    def _with_context(self, value: Any) -> dict[str, Any]:
        return {"context": {"slot": self._ledger.slot, "apiVersion": API_VERSION}, "value": value}

    async def _health(self, params: Params) -> str:
        return "ok"

    async def _version(self, params: Params) -> dict[str, Any]:
        return {"solana-core": API_VERSION, "feature-set": 0}

    async def _slot(self, params: Params) -> int:
        return self._ledger.slot

    async def _epoch_info(self, params: Params) -> dict[str, int]:
        slot = self._ledger.slot
        return {
            "absoluteSlot": slot,
            "blockHeight": slot,
            "epoch": self._ledger.cluster.epoch(slot),
            "slotIndex": slot % EPOCH_SLOTS,
            "slotsInEpoch": EPOCH_SLOTS,
            "transactionCount": await self._ledger.transactions(),
        }

    async def _latest_blockhash(self, params: Params) -> Any:
        slot = self._ledger.slot
        last = slot + BLOCKHASH_SLOTS
        return self._with_context(
            {"blockhash": self._ledger.cluster.blockhash_text(slot), "lastValidBlockHeight": last}
        )

    async def _is_blockhash_valid(self, params: Params) -> Any:
        blockhash = addresses.address_bytes(_text(params, 0), field="blockhash")
        return self._with_context(self._ledger.cluster.is_recent(blockhash, self._ledger.slot))

    async def _balance(self, params: Params) -> Any:
        return self._with_context(await self._ledger.lamports(_address(params, 0)))

    async def _account_info(self, params: Params) -> Any:
        address = _address(params, 0)
        data, owner, lamports = b"", addresses.encode(bytes(32)), await self._ledger.lamports(address)
        listed = await self._ledger.packet_account(address)
        held = await self._ledger.token_account(address)
        if listed is not None:
            data, owner, lamports = listed, addresses.encode(self._ledger.program), rent(len(listed))
        elif held is not None:
            data, owner, lamports = token_account_data(held), addresses.encode(TOKEN), TOKEN_ACCOUNT_RENT
        elif not lamports:
            return self._with_context(None)
        return self._with_context(
            {
                "data": [base64.b64encode(data).decode(), "base64"],
                "executable": False,
                "lamports": lamports,
                "owner": owner,
                "rentEpoch": 0,
                "space": len(data),
            }
        )

    async def _token_accounts(self, params: Params) -> Any:
        owner = _address(params, 0)
        choice = params[1] if len(params) > 1 else None
        if not isinstance(choice, dict) or not ("mint" in choice or "programId" in choice):
            raise RpcError(INVALID_PARAMS, "Invalid params: a mint or a programId is needed")
        mint = _address([choice.get("mint")], 0) if "mint" in choice else None
        if mint is None and choice["programId"] != addresses.encode(TOKEN):
            return self._with_context([])
        return self._with_context([_held(row) for row in await self._ledger.token_accounts(owner, mint)])

    async def _token_balance(self, params: Params) -> Any:
        row = await self._ledger.token_account(_address(params, 0))
        if row is None:
            raise RpcError(INVALID_PARAMS, "Invalid param: could not find account")
        return self._with_context(_amount(row))

    async def _rent(self, params: Params) -> int:
        return rent(_integer(params, 0, 10 * 1024 * 1024))

    async def _simulate(self, params: Params) -> Any:
        _, transaction = _decoded(params)
        if _option(params, "sigVerify") is True and not is_signed(transaction):
            raise RpcError(SIGNATURE_FAILURE, "Transaction signature verification failure")
        return self._with_context(_simulated(await self._ledger.simulate(transaction)))

    async def _send(self, params: Params) -> str:
        raw, transaction = _decoded(params)
        if not is_signed(transaction):
            raise RpcError(SIGNATURE_FAILURE, "Transaction signature verification failure")
        signature = addresses.encode(transaction.signatures[0])
        if await self._ledger.transaction(signature) is None and _option(params, "skipPreflight") is not True:
            tried = await self._ledger.simulate(transaction)
            if tried.error is not None:
                text = f"Transaction simulation failed: {tried.error}"
                raise RpcError(PREFLIGHT_FAILURE, text, _simulated(tried))
        await self._ledger.send(transaction, raw)
        return signature

    async def _statuses(self, params: Params) -> Any:
        asked = params[0] if params else None
        if not isinstance(asked, list) or len(asked) > 256 or not all(isinstance(one, str) for one in asked):
            raise RpcError(INVALID_PARAMS, "Invalid params: up to 256 signatures are expected")
        return self._with_context([await self._status(one) for one in asked])

    async def _status(self, signature: str) -> Any:
        row = await self._ledger.transaction(signature)
        if row is None:
            return None
        age = self._ledger.slot - row["slot"]
        finality = "finalized" if age > 31 else "confirmed"
        return {
            "slot": row["slot"],
            "confirmations": None if finality == "finalized" else age,
            "err": row["error"],
            "status": {"Ok": None} if row["error"] is None else {"Err": row["error"]},
            "confirmationStatus": finality,
        }

    async def _transaction(self, params: Params) -> Any:
        row = await self._ledger.transaction(_text(params, 0))
        if row is None:
            return None
        return {
            "slot": row["slot"],
            "version": 0,
            "meta": {"err": row["error"], "logMessages": row["logs"]},
            "transaction": [base64.b64encode(row["content"]).decode(), "base64"],
        }

    async def _airdrop(self, params: Params) -> str:
        return await self._ledger.airdrop(_address(params, 0), _integer(params, 1, MAX_AIRDROP, least=1))

    async def _mint_to(self, params: Params) -> str:
        return await self._ledger.mint_to(
            _address(params, 0), _address(params, 1), _integer(params, 2, LARGEST, least=1), _integer(params, 3, 18)
        )


def declare(api: Registry, rpc: SvmRpc) -> None:
    """Declare the JSON-RPC endpoint `/svm`."""

    @api.post("/svm", summary="JSON-RPC of the svm stand-in", tags=("SVM",), rate="none", response=Any)
    async def call(request: Request[NoParams, bytes]) -> Reply:
        return Reply(content=await rpc.answer(request.body))


def rent(space: int) -> int:
    """Lamports that keep an account of a size alive."""
    return (space + _ACCOUNT_OVERHEAD) * _RENT_PER_BYTE


def token_account_data(row: Any) -> bytes:
    """The 165 bytes of a token account: mint, owner, amount; initialised, no delegate."""
    head = addresses.decode(row["mint"]) + addresses.decode(row["owner"])
    return head + int(row["amount"]).to_bytes(8, "little") + bytes(36) + b"\x01" + bytes(56)


def _error(number: Any, error: RpcError) -> dict[str, Any]:
    content = {"code": error.code, "message": error.message}
    if error.data is not None:
        content["data"] = error.data
    return {"jsonrpc": "2.0", "id": number, "error": content}


def _text(params: Params, place: int) -> str:
    value = params[place] if place < len(params) else None
    if not isinstance(value, str):
        raise RpcError(INVALID_PARAMS, f"Invalid params: a string is expected at {place}")
    return value


def _address(params: Params, place: int) -> str:
    text = _text(params, place)
    addresses.address_bytes(text)
    return text


def _integer(params: Params, place: int, most: int, *, least: int = 0) -> int:
    value = params[place] if place < len(params) else None
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise RpcError(INVALID_PARAMS, f"Invalid params: an integer from {least} to {most} is expected at {place}")
    return value


def _option(params: Params, name: str) -> Any:
    options = params[1] if len(params) > 1 else None
    return options.get(name) if isinstance(options, dict) else None


def _decoded(params: Params) -> tuple[bytes, Transaction]:
    text = _text(params, 0)
    encoding = _option(params, "encoding") or "base58"
    try:
        if encoding == "base64":
            raw = base64.b64decode(text, validate=True)
        elif encoding == "base58" and len(text) <= 1700:
            raw = addresses.decode(text)
        else:
            raise RpcError(INVALID_PARAMS, f"Invalid params: unsupported encoding {encoding!r}")
        return raw, parse(raw)
    except (binascii.Error, ValueError, InvalidTransaction) as error:
        raise RpcError(INVALID_PARAMS, f"invalid transaction: {error}") from None


def _simulated(outcome: Outcome) -> dict[str, Any]:
    return {
        "err": outcome.error,
        "logs": outcome.logs,
        "accounts": None,
        "unitsConsumed": 1500 * max(1, len(outcome.logs) // 2),
        "returnData": None,
    }


def _amount(row: Any) -> dict[str, Any]:
    amount, decimals = int(row["amount"]), row["decimals"]
    text = plain(units(amount, decimals))
    # The wire type is a JSON number; exact readers use the text beside it.
    return {"amount": str(amount), "decimals": decimals, "uiAmount": float(text), "uiAmountString": text}


def _held(row: Any) -> dict[str, Any]:
    info = {
        "isNative": False,
        "mint": row["mint"],
        "owner": row["owner"],
        "state": "initialized",
        "tokenAmount": _amount(row),
    }
    parsed = {"program": "spl-token", "space": 165, "parsed": {"type": "account", "info": info}}
    return {
        "pubkey": row["address"],
        "account": {
            "data": parsed,
            "executable": False,
            "lamports": TOKEN_ACCOUNT_RENT,
            "owner": addresses.encode(TOKEN),
            "rentEpoch": 0,
            "space": 165,
        },
    }
