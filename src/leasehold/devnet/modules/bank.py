"""bank: balances, supply, sends, denom metadata."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leasehold.core.addresses import decode, module_address
from leasehold.devnet.app import coins as coin_lists
from leasehold.devnet.app.coins import Coin, Coins, amount_of, coins_text, denom_valid, from_proto
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import (
    INSUFFICIENT_FUNDS,
    INVALID_ADDRESS,
    INVALID_COINS,
    UNAUTHORIZED,
    ChainError,
    Kind,
    PlainError,
    Status,
    StatusError,
)
from leasehold.devnet.app.module import Module, answers, handles
from leasehold.devnet.app.pagination import page
from leasehold.devnet.modules.auth import PERMISSIONS
from leasehold.devnet.state.store import prefix_end

_BALANCE = b"bank/b/"
_HOLDER = b"bank/h/"
_SUPPLY = b"bank/s/"
_METADATA = b"bank/m/"
_ENABLED = b"bank/e/"
_PARAMS = b"bank/params"

NO_INPUTS = Kind("bank", 2, "no inputs to send transaction")
NO_OUTPUTS = Kind("bank", 3, "no outputs to send transaction")
UNEQUAL_SUMS = Kind("bank", 4, "sum inputs != sum outputs")
SEND_DISABLED = Kind("bank", 5, "send transactions are disabled")
MULTIPLE_SENDERS = Kind("bank", 9, "multiple senders not allowed")

BLOCKED = frozenset(module_address(name) for name in PERMISSIONS)


def _holding(address: bytes) -> bytes:
    return _BALANCE + bytes([len(address)]) + address


class Bank(Module):
    """Balances."""

    name = "bank"

    def init_genesis(self, ctx: Context, state: dict[str, Any]) -> None:
        ctx.store.set(_PARAMS, self.from_json("cosmos.bank.v1beta1.Params", state["params"]).SerializeToString())
        for entry in state["balances"]:
            address = decode(entry["address"])[1]
            for coin in entry["coins"]:
                amount = int(coin["amount"])
                self._set(ctx, address, coin["denom"], amount)
                self._change_supply(ctx, coin["denom"], amount)
        for metadata in state.get("denom_metadata", []):
            message = self.from_json("cosmos.bank.v1beta1.Metadata", metadata)
            ctx.store.set(_METADATA + message.base.encode(), message.SerializeToString())
        for enabled in state.get("send_enabled", []):
            ctx.store.set(_ENABLED + enabled["denom"].encode(), b"1" if enabled["enabled"] else b"0")

    # What other modules use.

    def balance(self, ctx: Context, address: bytes, denom: str) -> int:
        return int(ctx.store.get(_holding(address) + denom.encode()) or b"0")

    def balances(self, ctx: Context, address: bytes) -> Coins:
        return tuple(self._iterate(ctx, address))

    def _iterate(self, ctx: Context, address: bytes) -> Iterator[Coin]:
        prefix = _holding(address)
        for key, value in ctx.store.iterate(prefix, prefix_end(prefix)):
            yield Coin(key[len(prefix) :].decode(), int(value))

    def locked(self, ctx: Context, address: bytes) -> Coins:
        account = self.modules.auth.get(ctx, address)
        return account.locked_coins(ctx.block.time_s) if account is not None else ()

    def spendable(self, ctx: Context, address: bytes, denom: str) -> int:
        return max(0, self.balance(ctx, address, denom) - amount_of(self.locked(ctx, address), denom))

    def supply(self, ctx: Context, denom: str) -> int:
        return int(ctx.store.get(_SUPPLY + denom.encode()) or b"0")

    def send(self, ctx: Context, sender: bytes, recipient: bytes, coins: Coins, *, announce: bool = True) -> None:
        """Move coins; emits coin_spent, coin_received, transfer and, if `announce`, message(sender)."""
        self.take(ctx, sender, coins)
        self.give(ctx, recipient, coins)
        self.modules.auth.ensure(ctx, recipient)
        to, by, amount = self._text(recipient), self._text(sender), coins_text(coins)
        ctx.emit("transfer", ("recipient", to), ("sender", by), ("amount", amount))
        if announce:
            ctx.emit("message", ("sender", by))

    def take(self, ctx: Context, address: bytes, coins: Coins) -> None:
        """Subtract spendable coins; emits coin_spent."""
        if not coin_lists.valid(coins):
            raise INVALID_COINS(coins_text(coins))
        locked = self.locked(ctx, address)
        for denom, amount in coins:
            held = self.balance(ctx, address, denom)
            free = held - amount_of(locked, denom)
            if free < 0:
                missing = (
                    f"locked amount exceeds account balance funds: {amount_of(locked, denom)}{denom} > {held}{denom}"
                )
                raise INSUFFICIENT_FUNDS(missing)
            if free < amount:
                raise INSUFFICIENT_FUNDS(f"spendable balance {free}{denom} is smaller than {amount}{denom}")
            self._set(ctx, address, denom, held - amount)
        ctx.emit("coin_spent", ("spender", self._text(address)), ("amount", coins_text(coins)))

    def give(self, ctx: Context, address: bytes, coins: Coins) -> None:
        """Add coins; emits coin_received."""
        if not coin_lists.valid(coins):
            raise INVALID_COINS(coins_text(coins))
        for denom, amount in coins:
            self._set(ctx, address, denom, self.balance(ctx, address, denom) + amount)
        ctx.emit("coin_received", ("receiver", self._text(address)), ("amount", coins_text(coins)))

    def delegate(self, ctx: Context, delegator: bytes, pool: str, coins: Coins) -> None:
        """Move coins, locked ones included, from an account to a staking pool."""
        held = self.balances(ctx, delegator)
        for denom, amount in coins:
            if amount_of(held, denom) < amount:
                raise INSUFFICIENT_FUNDS(
                    f"failed to delegate; {amount_of(held, denom)}{denom} is smaller than {amount}{denom}"
                )
            self._set(ctx, delegator, denom, amount_of(held, denom) - amount)
        account = self.modules.auth.get(ctx, delegator)
        if account is not None and account.vesting is not None:
            account.track_delegation(held, coins, ctx.block.time_s)
            self.modules.auth.save(ctx, account)
        ctx.emit("coin_spent", ("spender", self._text(delegator)), ("amount", coins_text(coins)))
        self.give(ctx, self.modules.auth.module_account(ctx, pool), coins)

    def undelegate(self, ctx: Context, pool: str, delegator: bytes, coins: Coins) -> None:
        """Move coins from a staking pool back to an account."""
        self.take(ctx, module_address(pool), coins)
        account = self.modules.auth.get(ctx, delegator)
        if account is not None and account.vesting is not None:
            account.track_undelegation(coins)
            self.modules.auth.save(ctx, account)
        self.give(ctx, delegator, coins)

    def mint(self, ctx: Context, module: str, coins: Coins) -> None:
        """Create coins on a module account; emits coin_received and coinbase."""
        address = self.modules.auth.module_account(ctx, module)
        self.give(ctx, address, coins)
        for denom, amount in coins:
            self._change_supply(ctx, denom, amount)
        ctx.emit("coinbase", ("minter", self._text(address)), ("amount", coins_text(coins)))

    def burn(self, ctx: Context, module: str, coins: Coins) -> None:
        """Destroy coins of a module account; emits coin_spent and burn."""
        address = module_address(module)
        self.take(ctx, address, coins)
        for denom, amount in coins:
            self._change_supply(ctx, denom, -amount)
        ctx.emit("burn", ("burner", self._text(address)), ("amount", coins_text(coins)))

    def _set(self, ctx: Context, address: bytes, denom: str, amount: int) -> None:
        key = _holding(address) + denom.encode()
        holder = _HOLDER + denom.encode() + b"\x00" + bytes([len(address)]) + address
        if amount:
            if ctx.store.get(key) is None:
                ctx.store.set(holder, b"")
            ctx.store.set(key, str(amount).encode())
        else:
            ctx.store.delete(key)
            ctx.store.delete(holder)

    def _change_supply(self, ctx: Context, denom: str, delta: int) -> None:
        amount = self.supply(ctx, denom) + delta
        if amount:
            ctx.store.set(_SUPPLY + denom.encode(), str(amount).encode())
        else:
            ctx.store.delete(_SUPPLY + denom.encode())

    def _text(self, address: bytes) -> str:
        return self.prefixes.account_text(address)

    def blocked(self, address: bytes) -> bool:
        """Whether user sends to an address are refused."""
        return address in BLOCKED

    def require_enabled(self, ctx: Context, coins: Coins) -> None:
        for denom, _ in coins:
            flag = ctx.store.get(_ENABLED + denom.encode())
            enabled = flag == b"1" if flag is not None else self.params(ctx).default_send_enabled
            if not enabled:
                raise SEND_DISABLED(f"{denom} transfers are currently disabled")

    def params(self, ctx: Context) -> Any:
        return self.read(ctx, _PARAMS, "cosmos.bank.v1beta1.Params")

    # Messages.

    @handles("cosmos.bank.v1beta1.MsgSend")
    def handle_send(self, ctx: Context, msg: Any) -> Any:
        sender = self._address(msg.from_address, "from")
        recipient = self._address(msg.to_address, "to")
        coins = from_proto(msg.amount)
        if not coin_lists.valid(coins) or not coins:
            raise INVALID_COINS(coins_text(coins))
        self.require_enabled(ctx, coins)
        if self.blocked(recipient):
            raise UNAUTHORIZED(f"{msg.to_address} is not allowed to receive funds")
        self.send(ctx, sender, recipient, coins)
        return self.new("cosmos.bank.v1beta1.MsgSendResponse")

    def _address(self, text: str, what: str) -> bytes:
        try:
            return self.modules.auth.address_bytes(text)
        except PlainError as error:
            raise INVALID_ADDRESS(f"invalid {what} address: {error}") from None

    @handles("cosmos.bank.v1beta1.MsgMultiSend")
    def handle_multi_send(self, ctx: Context, msg: Any) -> Any:
        if not msg.inputs:
            raise ChainError(NO_INPUTS)
        if len(msg.inputs) != 1:
            raise ChainError(MULTIPLE_SENDERS)
        if not msg.outputs:
            raise ChainError(NO_OUTPUTS)
        source = msg.inputs[0]
        sender = self._address(source.address, "input")
        spent = from_proto(source.coins)
        if not spent or not coin_lists.valid(spent):
            raise INVALID_COINS(coins_text(spent))
        outputs = []
        total: Coins = ()
        for output in msg.outputs:
            recipient = self._address(output.address, "output")
            coins = from_proto(output.coins)
            if not coins or not coin_lists.valid(coins):
                raise INVALID_COINS(coins_text(coins))
            outputs.append((recipient, coins, output.address))
            total = coin_lists.add(total, coins)
        if total != spent:
            raise ChainError(UNEQUAL_SUMS)
        self.require_enabled(ctx, spent)
        for recipient, _, text in outputs:
            if self.blocked(recipient):
                raise UNAUTHORIZED(f"{text} is not allowed to receive funds")
        ctx.emit("message", ("sender", self._text(sender)))
        self.take(ctx, sender, spent)
        for recipient, coins, _ in outputs:
            self.give(ctx, recipient, coins)
            ctx.emit(
                "transfer",
                ("recipient", self._text(recipient)),
                ("sender", self._text(sender)),
                ("amount", coins_text(coins)),
            )
            self.modules.auth.ensure(ctx, recipient)
        return self.new("cosmos.bank.v1beta1.MsgMultiSendResponse")

    @handles("cosmos.bank.v1beta1.MsgUpdateParams")
    def handle_update_params(self, ctx: Context, msg: Any) -> Any:
        self.modules.gov.require_authority(msg.authority)
        ctx.store.set(_PARAMS, msg.params.SerializeToString())
        return self.new("cosmos.bank.v1beta1.MsgUpdateParamsResponse")

    @handles("cosmos.bank.v1beta1.MsgSetSendEnabled")
    def handle_set_send_enabled(self, ctx: Context, msg: Any) -> Any:
        self.modules.gov.require_authority(msg.authority)
        for entry in msg.send_enabled:
            ctx.store.set(_ENABLED + entry.denom.encode(), b"1" if entry.enabled else b"0")
        for denom in msg.use_default_for:
            ctx.store.delete(_ENABLED + denom.encode())
        return self.new("cosmos.bank.v1beta1.MsgSetSendEnabledResponse")

    # Queries.

    def _queried(self, text: str) -> bytes:
        try:
            return self.modules.auth.address_bytes(text)
        except PlainError as error:
            raise StatusError(Status.INVALID_ARGUMENT, f"invalid address: {error}") from None

    def _denom(self, denom: str) -> str:
        if not denom_valid(denom):
            raise StatusError(Status.INVALID_ARGUMENT, f"invalid denom: {denom}")
        return denom

    @answers("cosmos.bank.v1beta1.Query/Balance")
    def query_balance(self, ctx: Context, request: Any) -> Any:
        denom = self._denom(request.denom)
        amount = self.balance(ctx, self._queried(request.address), denom)
        return self.new("cosmos.bank.v1beta1.QueryBalanceResponse", balance=self.coin(Coin(denom, amount)))

    @answers("cosmos.bank.v1beta1.Query/AllBalances")
    def query_all_balances(self, ctx: Context, request: Any) -> Any:
        prefix = _holding(self._queried(request.address))

        def take(denom: bytes, value: bytes) -> Any:
            name = denom.decode()
            if request.resolve_denom:
                name = self._display(ctx, name)
            return self.coin(Coin(name, int(value)))

        try:
            items, result = page(ctx.store, prefix, request.pagination, take, walks=True)
        except PlainError as error:
            raise StatusError(Status.INVALID_ARGUMENT, f"paginate: {error}") from None
        return self.new(
            "cosmos.bank.v1beta1.QueryAllBalancesResponse", balances=items, pagination=self.page_response(result)
        )

    def _display(self, ctx: Context, denom: str) -> str:
        metadata = self.read(ctx, _METADATA + denom.encode(), "cosmos.bank.v1beta1.Metadata")
        return metadata.display if metadata is not None else denom

    @answers("cosmos.bank.v1beta1.Query/SpendableBalances")
    def query_spendable(self, ctx: Context, request: Any) -> Any:
        address = self._queried(request.address)
        locked = dict(self.locked(ctx, address))

        def take(denom: bytes, value: bytes) -> Any:
            name = denom.decode()
            return self.coin(Coin(name, max(0, int(value) - locked.get(name, 0))))

        try:
            items, result = page(ctx.store, _holding(address), request.pagination, take, walks=True)
        except PlainError as error:
            raise StatusError(Status.INVALID_ARGUMENT, f"paginate: {error}") from None
        return self.new(
            "cosmos.bank.v1beta1.QuerySpendableBalancesResponse",
            balances=items,
            pagination=self.page_response(result),
        )

    @answers("cosmos.bank.v1beta1.Query/SpendableBalanceByDenom")
    def query_spendable_by_denom(self, ctx: Context, request: Any) -> Any:
        address = self._queried(request.address)
        denom = self._denom(request.denom)
        amount = self.spendable(ctx, address, denom)
        return self.new(
            "cosmos.bank.v1beta1.QuerySpendableBalanceByDenomResponse", balance=self.coin(Coin(denom, amount))
        )

    @answers("cosmos.bank.v1beta1.Query/TotalSupply")
    def query_total_supply(self, ctx: Context, request: Any) -> Any:
        items, result = self._listed(
            ctx, _SUPPLY, request, lambda denom, value: self.coin(Coin(denom.decode(), int(value)))
        )
        return self.new(
            "cosmos.bank.v1beta1.QueryTotalSupplyResponse", supply=items, pagination=self.page_response(result)
        )

    def _listed(self, ctx: Context, prefix: bytes, request: Any, take: Any) -> Any:
        try:
            return page(ctx.store, prefix, request.pagination, take, walks=True)
        except PlainError as error:
            raise StatusError(Status.INTERNAL, str(error)) from None

    @answers("cosmos.bank.v1beta1.Query/SupplyOf")
    def query_supply_of(self, ctx: Context, request: Any) -> Any:
        denom = self._denom(request.denom)
        amount = self.coin(Coin(denom, self.supply(ctx, denom)))
        return self.new("cosmos.bank.v1beta1.QuerySupplyOfResponse", amount=amount)

    @answers("cosmos.bank.v1beta1.Query/Params")
    def query_params(self, ctx: Context, request: Any) -> Any:
        return self.new("cosmos.bank.v1beta1.QueryParamsResponse", params=self.params(ctx))

    @answers("cosmos.bank.v1beta1.Query/DenomsMetadata")
    def query_denoms_metadata(self, ctx: Context, request: Any) -> Any:
        kind = self.registry.type("cosmos.bank.v1beta1.Metadata")
        items, result = self._listed(ctx, _METADATA, request, lambda _, value: kind.FromString(value))
        return self.new(
            "cosmos.bank.v1beta1.QueryDenomsMetadataResponse",
            metadatas=items,
            pagination=self.page_response(result),
        )

    @answers("cosmos.bank.v1beta1.Query/DenomMetadata")
    def query_denom_metadata(self, ctx: Context, request: Any) -> Any:
        metadata = self._metadata(ctx, request.denom)
        return self.new("cosmos.bank.v1beta1.QueryDenomMetadataResponse", metadata=metadata)

    @answers("cosmos.bank.v1beta1.Query/DenomMetadataByQueryString")
    def query_denom_metadata_by_query(self, ctx: Context, request: Any) -> Any:
        metadata = self._metadata(ctx, request.denom)
        return self.new("cosmos.bank.v1beta1.QueryDenomMetadataByQueryStringResponse", metadata=metadata)

    def _metadata(self, ctx: Context, denom: str) -> Any:
        metadata = self.read(ctx, _METADATA + self._denom(denom).encode(), "cosmos.bank.v1beta1.Metadata")
        if metadata is None:
            raise StatusError(Status.NOT_FOUND, f"client metadata for denom {denom}")
        return metadata

    def _owners(self, ctx: Context, request: Any) -> Any:
        denom = self._denom(request.denom)

        def take(key: bytes, _: bytes) -> Any:
            address = key[1:]
            held = self.coin(Coin(denom, self.balance(ctx, address, denom)))
            return self.new("cosmos.bank.v1beta1.DenomOwner", address=self._text(address), balance=held)

        return page(ctx.store, _HOLDER + denom.encode() + b"\x00", request.pagination, take)

    @answers("cosmos.bank.v1beta1.Query/DenomOwners")
    def query_denom_owners(self, ctx: Context, request: Any) -> Any:
        items, result = self._owners(ctx, request)
        return self.new(
            "cosmos.bank.v1beta1.QueryDenomOwnersResponse",
            denom_owners=items,
            pagination=self.page_response(result),
        )

    @answers("cosmos.bank.v1beta1.Query/DenomOwnersByQuery")
    def query_denom_owners_by_query(self, ctx: Context, request: Any) -> Any:
        items, result = self._owners(ctx, request)
        return self.new(
            "cosmos.bank.v1beta1.QueryDenomOwnersByQueryResponse",
            denom_owners=items,
            pagination=self.page_response(result),
        )

    @answers("cosmos.bank.v1beta1.Query/SendEnabled")
    def query_send_enabled(self, ctx: Context, request: Any) -> Any:
        def entry(denom: bytes, value: bytes) -> Any:
            return self.new("cosmos.bank.v1beta1.SendEnabled", denom=denom.decode(), enabled=value == b"1")

        if request.denoms:
            found = [(d.encode(), ctx.store.get(_ENABLED + d.encode())) for d in request.denoms]
            listed = [entry(denom, value) for denom, value in found if value is not None]
            return self.new("cosmos.bank.v1beta1.QuerySendEnabledResponse", send_enabled=listed)
        items, result = self._listed(ctx, _ENABLED, request, entry)
        return self.new(
            "cosmos.bank.v1beta1.QuerySendEnabledResponse",
            send_enabled=items,
            pagination=self.page_response(result),
        )
