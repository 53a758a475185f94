"""Protocols, currencies, balances and supply of a development chain, as its contracts and its bank tell them."""

from __future__ import annotations

from typing import Any

from devnet_leases import terms
from devnet_reader import ROLES, ChainReader, Traded, instant
from devnet_witness import Row


def registered(tables: dict[str, list[Row]], chain: ChainReader, height: int) -> None:
    """Add the tables about what is registered, and the coins of followed contracts."""
    started = instant(chain.time_ns(1))
    platform = chain.ask(chain.admin, {"platform": {}}, height)
    tables["platform"] = [{"one": True, "admin": chain.admin, **platform}]
    tables["balances"] = [{"address": "supply", "denom": chain.native_denom}]
    tables["balances"][0]["amount"] = chain.supply(chain.native_denom, height)
    watched = [platform["treasury"]]
    tables["protocols"], tables["currency_protocols"] = [], []
    digits: dict[str, int] = {}
    for name, protocol in chain.protocols.items():
        contracts = protocol.contracts
        watched += [contracts[role] for role in ("lpp", "profit", "reserve")]
        tables["protocols"].append(
            {
                "name": name,
                "network": protocol.network,
                "dex": protocol.dex,
                "position_type": "Long" if protocol.is_long else "Short",
                "lpn": protocol.lpn,
                "stable": protocol.stable,
                "label": protocol.lpn if protocol.is_long else f"{protocol.lpn} (Short)",
                **{role: contracts[role] for role in ROLES},
                "is_active": True,
                "first_seen_at": started,
                "deprecated_at": None,
                "config": _config(chain, protocol, height),
            }
        )
        for ticker, one in protocol.currencies.items():
            digits[ticker] = one["decimal_digits"]
            tables["currency_protocols"].append(
                {
                    "ticker": ticker,
                    "protocol": name,
                    "group": one["group"],
                    "bank_symbol": one["bank_symbol"],
                    "dex_symbol": one["dex_symbol"],
                    "decimals": one["decimal_digits"],
                }
            )
    tables["currencies"] = [
        {"ticker": t, "decimals": d, "is_active": True, "first_seen_at": started, "deprecated_at": None}
        for t, d in digits.items()
    ]
    for address in watched:
        for denom, amount in chain.balances(address, height).items():
            tables["balances"].append({"address": address, "denom": denom, "amount": amount})


def _config(chain: ChainReader, protocol: Traded, height: int) -> Row:
    ask, contracts = chain.ask, protocol.contracts
    lent = ask(contracts["lpp"], {"config": []}, height)
    prices = ask(contracts["oracle"], {"config": {}}, height)["price_config"]
    margin, due_period, max_ltv = terms(chain, protocol, height)
    return {
        "base_rate": lent["borrow_rate"]["base_interest_rate"],
        "optimal_utilization": lent["borrow_rate"]["utilization_optimal"],
        "addon_rate": lent["borrow_rate"]["addon_optimal_interest_rate"],
        "min_utilization": lent["min_utilization"],
        "margin": margin,
        "due_period": due_period,
        "max_ltv": max_ltv,
        **{name: prices[name] for name in ("min_feeders", "sample_period_secs", "samples_number")},
        "discount_factor": prices["discount_factor"],
        "feeders": sorted(ask(contracts["oracle"], {"feeders": {}}, height)),
        "tree": _edges(ask(contracts["oracle"], {"swap_tree": {}}, height)["tree"], None),
    }


def _edges(node: Any, parent: str | None) -> list[list[Any]]:
    number, ticker = node["value"]
    found = [[ticker, number, parent]]
    for child in node.get("children", []):
        found += _edges(child, ticker)
    return found
