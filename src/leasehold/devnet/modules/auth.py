"""auth: accounts, their numbers and sequences, module accounts, parameters."""

from __future__ import annotations

from typing import Any

from leasehold.core.addresses import decode, module_address
from leasehold.devnet.app.addressing import bech32_bytes, plain_bech32_bytes
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import INVALID_ADDRESS, ChainError, PlainError, Status, StatusError
from leasehold.devnet.app.module import Module, answers, handles
from leasehold.devnet.app.pagination import page
from leasehold.devnet.modules import accounts
from leasehold.devnet.modules.accounts import Account, Kind

_ACCOUNT = b"auth/a/"
_NUMBER = b"auth/n/"
_NEXT = b"auth/next"
_PARAMS = b"auth/params"

# A burner, minter or staking permission is granted to a module account by its name.
PERMISSIONS: dict[str, tuple[str, ...]] = {
    "fee_collector": (),
    "distribution": (),
    "mint": ("minter",),
    "bonded_tokens_pool": ("burner", "staking"),
    "not_bonded_tokens_pool": ("burner", "staking"),
    "gov": ("burner",),
    "transfer": ("minter", "burner"),
    "wasm": ("burner",),
    "vestings": (),
    "interchainaccounts": (),
    "feerefunder": (),
}


class Auth(Module):
    """Accounts."""

    name = "auth"

    def init_genesis(self, ctx: Context, state: dict[str, Any]) -> None:
        self.set_params(ctx, self.from_json("cosmos.auth.v1beta1.Params", state["params"]))
        entries = [self._genesis_account(entry) for entry in state["accounts"]]
        _settle_numbers(entries)
        for account in sorted(entries, key=lambda account: account.number):
            self.save(ctx, account, new=True)
        following = max((account.number + 1 for account in entries), default=0)
        ctx.store.set(_NEXT, str(following).encode())
        self.module_account(ctx, "fee_collector")

    def _genesis_account(self, entry: dict[str, Any]) -> Account:
        base = entry.get("base_vesting_account", entry)
        base = base.get("base_account", base)
        key = base.get("pub_key")
        packed = self.registry.pack(self.any_from_json(key)).SerializeToString() if key else b""
        return accounts.from_genesis(entry, decode(base["address"])[1], packed)

    # What other modules use.

    def params(self, ctx: Context) -> Any:
        return self.read(ctx, _PARAMS, "cosmos.auth.v1beta1.Params") or self.new("cosmos.auth.v1beta1.Params")

    def set_params(self, ctx: Context, params: Any) -> None:
        ctx.store.set(_PARAMS, params.SerializeToString())

    def get(self, ctx: Context, address: bytes) -> Account | None:
        data = ctx.store.get(_ACCOUNT + address)
        return None if data is None else accounts.decode(data)

    def exists(self, ctx: Context, address: bytes) -> bool:
        return ctx.store.get(_ACCOUNT + address) is not None

    def save(self, ctx: Context, account: Account, *, new: bool = False) -> None:
        ctx.store.set(_ACCOUNT + account.address, accounts.encode(account))
        if new:
            ctx.store.set(_NUMBER + account.number.to_bytes(8, "big"), account.address)

    def create(self, ctx: Context, address: bytes, **fields: Any) -> Account:
        """A new account with the next number; kind and the rest as given."""
        number = int(ctx.store.get(_NEXT) or b"0")
        ctx.store.set(_NEXT, str(number + 1).encode())
        account = Account(kind=fields.pop("kind", Kind.BASE), address=address, number=number, **fields)
        self.save(ctx, account, new=True)
        return account

    def ensure(self, ctx: Context, address: bytes) -> None:
        """Create a base account unless there is one."""
        if not self.exists(ctx, address):
            self.create(ctx, address)

    def module_account(self, ctx: Context, name: str) -> bytes:
        """Address of a module account, created when it does not exist yet."""
        address = module_address(name)
        if not self.exists(ctx, address):
            self.create(ctx, address, kind=Kind.MODULE, name=name, permissions=list(PERMISSIONS[name]))
        return address

    def text(self, address: bytes) -> str:
        return self.prefixes.account_text(address)

    def parse(self, text: str, *, what: str = "") -> bytes:
        """Bytes of an account address in a message; a delivered failure when it is none."""
        try:
            return self.address_bytes(text)
        except PlainError as error:
            raise ChainError(INVALID_ADDRESS, f"{what}{error}") from None

    def address_bytes(self, text: str) -> bytes:
        """Bytes of an account address; PlainError with the SDK's text when it is none."""
        return bech32_bytes(text, self.identity.prefix)

    def plain_address_bytes(self, text: str) -> bytes:
        """The same with the text of the SDK's older function, which contracts and the chain's own modules use."""
        return plain_bech32_bytes(text, self.identity.prefix)

    # Messages and queries.

    @handles("cosmos.auth.v1beta1.MsgUpdateParams")
    def update_params(self, ctx: Context, msg: Any) -> Any:
        self.modules.gov.require_authority(msg.authority)
        self.set_params(ctx, msg.params)
        return self.new("cosmos.auth.v1beta1.MsgUpdateParamsResponse")

    def stored_form(self, data: bytes) -> bytes:
        """A stored account as the original's store holds it."""
        return bytes(self._packed(accounts.decode(data)).SerializeToString())

    def _packed(self, account: Account) -> Any:
        return self.registry.pack(accounts.to_proto(self.registry, account, self.text(account.address)))

    @answers("cosmos.auth.v1beta1.Query/Account")
    def query_account(self, ctx: Context, request: Any) -> Any:
        if not request.address:
            raise StatusError(Status.INVALID_ARGUMENT, "Address cannot be empty")
        account = self._queried(ctx, request.address)
        return self.new("cosmos.auth.v1beta1.QueryAccountResponse", account=self._packed(account))

    @answers("cosmos.auth.v1beta1.Query/AccountInfo")
    def query_account_info(self, ctx: Context, request: Any) -> Any:
        if not request.address:
            raise StatusError(Status.INVALID_ARGUMENT, "address cannot be empty")
        account = self._queried(ctx, request.address)
        base = Account(Kind.BASE, account.address, account.number, account.sequence, account.pub_key)
        info = accounts.to_proto(self.registry, base, request.address)
        return self.new("cosmos.auth.v1beta1.QueryAccountInfoResponse", info=info)

    def _queried(self, ctx: Context, text: str) -> Account:
        account = self.get(ctx, self.address_bytes(text))
        if account is None:
            raise StatusError(Status.NOT_FOUND, f"account {text} not found")
        return account

    @answers("cosmos.auth.v1beta1.Query/Accounts")
    def query_accounts(self, ctx: Context, request: Any) -> Any:
        items, result = page(
            ctx, _ACCOUNT, request.pagination, lambda _, value: self._packed(accounts.decode(value)), walks=True
        )
        return self.new(
            "cosmos.auth.v1beta1.QueryAccountsResponse", accounts=items, pagination=self.page_response(result)
        )

    @answers("cosmos.auth.v1beta1.Query/AccountAddressByID")
    def query_address_by_id(self, ctx: Context, request: Any) -> Any:
        if request.id != 0:
            raise StatusError(
                Status.INVALID_ARGUMENT, "requesting with id isn't supported, try to request using account-id"
            )
        address = ctx.store.get(_NUMBER + request.account_id.to_bytes(8, "big"))
        if address is None:
            raise StatusError(Status.NOT_FOUND, f"account address not found with account number {request.account_id}")
        return self.new("cosmos.auth.v1beta1.QueryAccountAddressByIDResponse", account_address=self.text(address))

    @answers("cosmos.auth.v1beta1.Query/Params")
    def query_params(self, ctx: Context, request: Any) -> Any:
        return self.new("cosmos.auth.v1beta1.QueryParamsResponse", params=self.params(ctx))

    @answers("cosmos.auth.v1beta1.Query/ModuleAccounts")
    def query_module_accounts(self, ctx: Context, request: Any) -> Any:
        # Asking for an account that was never used creates it, here in the query's own throw-away state.
        found = (self.get(ctx, self.module_account(ctx, name)) for name in sorted(PERMISSIONS))
        packed = [self._packed(account) for account in found if account is not None]
        return self.new("cosmos.auth.v1beta1.QueryModuleAccountsResponse", accounts=packed)

    @answers("cosmos.auth.v1beta1.Query/ModuleAccountByName")
    def query_module_account(self, ctx: Context, request: Any) -> Any:
        if not request.name:
            raise StatusError(Status.INVALID_ARGUMENT, "module name is empty")
        known = request.name in PERMISSIONS
        account = self.get(ctx, self.module_account(ctx, request.name)) if known else None
        if account is None:
            raise StatusError(Status.NOT_FOUND, f"account {request.name} not found")
        return self.new("cosmos.auth.v1beta1.QueryModuleAccountByNameResponse", account=self._packed(account))

    @answers("cosmos.auth.v1beta1.Query/Bech32Prefix")
    def query_prefix(self, ctx: Context, request: Any) -> Any:
        return self.new("cosmos.auth.v1beta1.Bech32PrefixResponse", bech32_prefix=self.identity.prefix)

    @answers("cosmos.auth.v1beta1.Query/AddressBytesToString")
    def query_bytes_to_string(self, ctx: Context, request: Any) -> Any:
        if not request.address_bytes:
            raise PlainError("empty address bytes is not allowed")
        text = self.text(bytes(request.address_bytes))
        return self.new("cosmos.auth.v1beta1.AddressBytesToStringResponse", address_string=text)

    @answers("cosmos.auth.v1beta1.Query/AddressStringToBytes")
    def query_string_to_bytes(self, ctx: Context, request: Any) -> Any:
        data = self.address_bytes(request.address_string)
        return self.new("cosmos.auth.v1beta1.AddressStringToBytesResponse", address_bytes=data)


def _settle_numbers(entries: list[Account]) -> None:
    """Give accounts that repeat a number the lowest unused one; the first with a number keeps it."""
    used = {account.number for account in entries}
    seen: set[int] = set()
    free = 0
    for account in sorted(entries, key=lambda account: account.number):
        if account.number in seen:
            while free in used:
                free += 1
            account.number = free
            used.add(free)
        seen.add(account.number)
