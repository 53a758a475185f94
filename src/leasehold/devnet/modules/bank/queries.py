"""Queries about balances, supply and denoms."""

from __future__ import annotations

from typing import Any

from leasehold.devnet.app.coins import Coin, denom_valid
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import PlainError, Status, StatusError
from leasehold.devnet.app.module import answers
from leasehold.devnet.app.pagination import page
from leasehold.devnet.modules.bank.ledger import ENABLED, HOLDER, METADATA, SUPPLY, Ledger, holding


class Queries(Ledger):
    """Answers."""

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
        prefix = holding(self._queried(request.address))

        def take(denom: bytes, value: bytes) -> Any:
            name = denom.decode()
            if request.resolve_denom:
                name = self._display(ctx, name)
            return self.coin(Coin(name, int(value)))

        try:
            items, result = page(ctx, prefix, request.pagination, take, walks=True)
        except PlainError as error:
            raise StatusError(Status.INVALID_ARGUMENT, f"paginate: {error}") from None
        return self.new(
            "cosmos.bank.v1beta1.QueryAllBalancesResponse", balances=items, pagination=self.page_response(result)
        )

    def _display(self, ctx: Context, denom: str) -> str:
        metadata = self.read(ctx, METADATA + denom.encode(), "cosmos.bank.v1beta1.Metadata")
        return metadata.display if metadata is not None else denom

    @answers("cosmos.bank.v1beta1.Query/SpendableBalances")
    def query_spendable(self, ctx: Context, request: Any) -> Any:
        address = self._queried(request.address)
        locked = dict(self.locked(ctx, address))

        def take(denom: bytes, value: bytes) -> Any:
            name = denom.decode()
            return self.coin(Coin(name, max(0, int(value) - locked.get(name, 0))))

        try:
            items, result = page(ctx, holding(address), request.pagination, take, walks=True)
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
            ctx, SUPPLY, request, lambda denom, value: self.coin(Coin(denom.decode(), int(value)))
        )
        return self.new(
            "cosmos.bank.v1beta1.QueryTotalSupplyResponse", supply=items, pagination=self.page_response(result)
        )

    def _listed(self, ctx: Context, prefix: bytes, request: Any, take: Any, *, walks: bool = True) -> Any:
        try:
            return page(ctx, prefix, request.pagination, take, walks=walks)
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
        items, result = self._listed(ctx, METADATA, request, lambda _, value: kind.FromString(value), walks=False)
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
        metadata = self.read(ctx, METADATA + self._denom(denom).encode(), "cosmos.bank.v1beta1.Metadata")
        if metadata is None:
            raise StatusError(Status.NOT_FOUND, f"client metadata for denom {denom}")
        return metadata

    def _owners(self, ctx: Context, request: Any) -> Any:
        denom = self._denom(request.denom)

        def take(key: bytes, _: bytes) -> Any:
            address = key[1:]
            held = self.coin(Coin(denom, self.balance(ctx, address, denom)))
            return self.new("cosmos.bank.v1beta1.DenomOwner", address=self.text(address), balance=held)

        return page(ctx, HOLDER + denom.encode() + b"\x00", request.pagination, take, walks=True)

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
            found = [(d.encode(), ctx.store.get(ENABLED + d.encode())) for d in request.denoms]
            listed = [entry(denom, value) for denom, value in found if value is not None]
            return self.new("cosmos.bank.v1beta1.QuerySendEnabledResponse", send_enabled=listed)
        items, result = self._listed(ctx, ENABLED, request, entry)
        return self.new(
            "cosmos.bank.v1beta1.QuerySendEnabledResponse",
            send_enabled=items,
            pagination=self.page_response(result),
        )
