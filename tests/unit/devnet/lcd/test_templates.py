"""Templates of routes and what they match."""

from __future__ import annotations

import pytest

from leasehold.chain.registry import registry
from leasehold.devnet.lcd.templates import RouteTable

TABLE = RouteTable(method for method in registry("leasehold").methods if method.http)


@pytest.mark.parametrize(
    ("path", "method", "values"),
    [
        ("/cosmos/bank/v1beta1/params", "Params", []),
        ("/cosmos/bank/v1beta1/balances/a", "AllBalances", ["a"]),
        ("/cosmos/bank/v1beta1/balances/", "AllBalances", [""]),
        ("/cosmos/bank/v1beta1/balances/a/by_denom", "Balance", ["a"]),
        ("/cosmos/bank/v1beta1/denoms_metadata/ibc/x/y", "DenomMetadata", ["ibc/x/y"]),
        ("/cosmos/bank/v1beta1/denom_owners", "DenomOwners", [""]),
        ("/cosmos/bank/v1beta1/denoms_metadata", "DenomsMetadata", []),
        ("/cosmos/auth/v1beta1/bech32/a", "AddressBytesToString", ["a"]),
        ("/cosmos/auth/v1beta1/bech32", "Bech32Prefix", []),
    ],
)
def test_a_path_finds_its_method_and_values(path: str, method: str, values: list[str]) -> None:
    """Literals go before variables, `**` takes the rest, and of two equal templates the first one wins."""
    found = TABLE.find("GET", path)
    assert found is not None
    assert (found[0].method.name, found[1]) == (method, values)


@pytest.mark.parametrize(
    "path", ["/", "", "/cosmos", "/cosmos/bank/v1beta1/params/", "/cosmos/bank/v1beta1/balances/a/"]
)
def test_other_paths_find_nothing(path: str) -> None:
    """There is no prefix matching and no forgiving of slashes."""
    assert TABLE.find("GET", path) is None


def test_verbs_are_told_apart() -> None:
    """The same path sends with one verb and searches with another."""
    posted, got = TABLE.find("POST", "/cosmos/tx/v1beta1/txs"), TABLE.find("GET", "/cosmos/tx/v1beta1/txs")
    assert posted is not None
    assert got is not None
    assert (posted[0].method.name, got[0].method.name) == ("BroadcastTx", "GetTxsEvent")


def test_routes_are_listed_in_order() -> None:
    """Every binding is listed once, sorted by path."""
    listed = TABLE.listed()
    assert [template for _, template in listed] == sorted(template for _, template in listed)
    assert ("GET", "/cosmos/bank/v1beta1/params") in listed
