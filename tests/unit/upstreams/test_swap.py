"""The swap router against a development chain of its own: what it quotes is what its messages yield."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from tests.unit.upstreams.conftest import NOW_NS, Service, differences, running

from leasehold.chain.wallet import Wallet
from leasehold.core.addresses import encode
from leasehold.core.clock import ManualClock
from leasehold.core.configuration import load
from leasehold.core.settings import ChainNodes
from leasehold.devnet.chain import Devnet
from leasehold.devnet.genesis import document
from leasehold.devnet.genesis.networks import NEUTRON, OSMOSIS, NetworkSpec
from leasehold.devnet.market.live import LiveMarket
from leasehold.devnet.market.market import Market
from leasehold.devnet.market.relay import Fault
from leasehold.devnet.rpc.server import RpcServer
from leasehold.upstreams.chain_access import tx_hash
from leasehold.upstreams.swap import tracking

HOME, OSMO, NEUT = "leasehold-1", "osmosis-1", "neutron-1"
ROUTE, MESSAGES = "/swap/v2/fungible/route", "/swap/v2/fungible/msgs"


def _denom(ticker: str, network: NetworkSpec = OSMOSIS) -> str:
    return network.here(next(asset for asset in network.assets if asset.ticker == ticker))


def _there(ticker: str, network: NetworkSpec = OSMOSIS) -> str:
    return network.there(next(asset for asset in network.assets if asset.ticker == ticker))


@dataclass
class Chain:
    """A chain sealed by hand, with its market and a developer's wallet."""

    devnet: Devnet
    market: Market
    clock: ManualClock
    url: str
    wallet: Wallet

    def seal(self, blocks: int = 1) -> None:
        for _ in range(blocks):
            self.clock.advance(seconds=5)
            self.devnet.node.seal()

    def move(self, ticker: str, factor: Fraction) -> None:
        """Change a price and have it fed."""
        self.market.model.set_price(ticker, self.market.model.usd(ticker) * float(factor))
        self.market._fed = 0
        self.seal(2)

    def balance(self, denom: str) -> int:
        bank = self.devnet.app.modules.bank
        found: int = bank.balance(self.devnet.app.context(), self.wallet.address_bytes, denom)
        return found

    def held(self, account: str, denom: str) -> int:
        """What an account of another chain holds."""
        found: int = self.devnet.app.modules.interchain.held(self.devnet.app.context(), account, denom)
        return found

    def send(self, encoded: dict[str, str]) -> str:
        """Sign and submit a message as a client would build it from the router's answer; returns the hash."""
        assert encoded["msg_type_url"] == "/ibc.applications.transfer.v1.MsgTransfer"
        members = json.loads(encoded["msg"])
        message = self.devnet.registry.new("ibc.applications.transfer.v1.MsgTransfer", **members)
        account = self.devnet.app.modules.auth.get(self.devnet.app.context(), self.wallet.address_bytes)
        assert account is not None
        raw = self.wallet.sign_direct(
            [message],
            fee={"ulsh": 2500},
            gas=1_000_000,
            sequence=account.sequence,
            account_number=account.number,
            chain_id=HOME,
        )
        assert self.devnet.node.submit(raw).code == 0
        return tx_hash(raw)


@pytest.fixture
async def chain(clock: ManualClock) -> AsyncIterator[Chain]:
    flags = {"devnet.block_interval_ms": "0", "devnet.history_days": "0"}
    settings = load(flags=flags).settings
    devnet = Devnet.open(settings, None, clock=clock, genesis_time_ns=NOW_NS)
    market = Market(devnet, start=NOW_NS // 10**9)
    LiveMarket.resume(devnet, clock, market).attach()
    server = RpcServer(devnet.node, "127.0.0.1", 0)
    await server.start()
    wallet = document.wallet("alice", "chain", "leasehold")
    found = Chain(devnet, market, clock, f"http://127.0.0.1:{server.port}", wallet)
    found.seal(8)
    try:
        yield found
    finally:
        await server.stop()
        devnet.close()


@pytest.fixture
async def service(database: str, clock: ManualClock, chain: Chain) -> AsyncIterator[Service]:
    async with running(database, clock, None, chain=ChainNodes(rpc_urls=(chain.url,))) as found:
        yield found


def _asked(source: str, target: str, dest_chain: str = HOME, **members: Any) -> dict[str, Any]:
    return {
        "source_asset_denom": source,
        "source_asset_chain_id": HOME,
        "dest_asset_denom": target,
        "dest_asset_chain_id": dest_chain,
        "cumulative_affiliate_fee_bps": "35",
        "go_fast": True,
        "swap_venues": [{"name": "osmosis-poolmanager", "chain_id": OSMO}, {"name": "x", "chain_id": NEUT}],
        **members,
    }


async def _messages(service: Service, route: dict[str, Any], addresses: list[str], **changes: Any) -> Any:
    """Ask for the messages of a route as the application API does."""
    names = ("source_asset_denom", "source_asset_chain_id", "dest_asset_denom", "dest_asset_chain_id")
    body = {name: route[name] for name in (*names, "amount_in", "amount_out", "operations")}
    body |= {"address_list": addresses, "slippage_tolerance_percent": "1", "timeout_seconds": "60", **changes}
    status, answer = await service.ask("POST", MESSAGES, body)
    assert status == 200, answer
    (transaction,) = answer["txs"]
    return transaction["cosmos_tx"]


async def test_a_route_yields_what_it_quotes(service: Service, chain: Chain) -> None:
    """Every route home pays the quoted amount to the unit, though prices move before the relayer comes."""
    own, there = chain.wallet.address, encode("osmo", chain.wallet.address_bytes)
    affiliate = encode("osmo", bytes(20))
    moved: list[bool] = []
    for source, target, amount in (
        ("ulsh", _denom("USDC_NOBLE"), 123_456_789_012),
        (_denom("USDC_NOBLE"), _denom("ALL_ETH"), 7_000_001),
        (_denom("ST_ATOM"), _denom("WBTC"), 98_765_432),
        (_denom("ATOM"), "ulsh", 1_000_003),
    ):
        status, route = await service.ask("POST", ROUTE, _asked(source, target, amount_in=str(amount)))
        assert status == 200, route
        assert route["chain_ids"] == [HOME, OSMO, HOME]
        assert route["amount_in"] == str(amount)
        affiliates = {OSMO: {"affiliates": [{"address": affiliate, "basisPointsFee": "35"}]}}
        made = await _messages(service, route, [own, there, own], chain_ids_to_affiliates=affiliates)
        assert made["signer_address"] == own
        fees = 2500 if "ulsh" in (source, target) else 0
        # Prices move by a little, as they always do between a quote and its execution.
        chain.move("OSMO", Fraction(1003, 1000))
        _, later = await service.ask("POST", ROUTE, _asked(source, target, amount_in=str(amount)))
        moved.append(later["amount_out"] != route["amount_out"])
        before_in, before_out = chain.balance(source), chain.balance(target)
        chain.send(made["msgs"][0])
        chain.seal(4)
        spent, got = before_in - chain.balance(source), chain.balance(target) - before_out
        assert got == int(route["amount_out"]) - (fees if target == "ulsh" else 0)
        assert spent == amount + (fees if source == "ulsh" else 0)
        fee = route["operations"][1]["swap"]["estimated_affiliate_fee"]
        remote = route["operations"][1]["swap"]["denom_out"]
        assert fee == f"{chain.held(affiliate, remote)}{remote}"
    assert all(moved)


async def test_a_swap_is_tracked_to_its_end(service: Service, chain: Chain, database: str, clock: ManualClock) -> None:
    """A followed swap is submitted, pending, then completed, also for a service that was restarted meanwhile."""
    own = chain.wallet.address
    _, route = await service.ask("POST", ROUTE, _asked("ulsh", _denom("ATOM"), amount_in="1000000000"))
    made = await _messages(service, route, [own, own])
    digest = chain.send(made["msgs"][0])
    path = f"/swap/v2/tx/status?tx_hash={digest}&chain_id={HOME}"
    assert (await service.ask("GET", path))[0] == 404
    tracked = await service.ask("POST", "/swap/v2/tx/track", {"chain_id": HOME, "tx_hash": digest.lower()})
    assert tracked == (200, {"tx_hash": digest, "explorer_link": None})
    assert (await service.get(path))["state"] == "STATE_SUBMITTED"
    states = []
    for _ in range(4):
        chain.seal()
        found = await service.get(path)
        states.append((found["state"], [step["ibc_transfer"]["state"] for step in found["transfer_sequence"]]))
    assert states == [
        ("STATE_PENDING", ["TRANSFER_PENDING"]),
        ("STATE_PENDING", ["TRANSFER_SUCCESS", "TRANSFER_PENDING"]),
        ("STATE_COMPLETED_SUCCESS", ["TRANSFER_SUCCESS", "TRANSFER_SUCCESS"]),
        ("STATE_COMPLETED_SUCCESS", ["TRANSFER_SUCCESS", "TRANSFER_SUCCESS"]),
    ]
    assert found["next_blocking_transfer"] is None
    assert found["transfer_asset_release"] == {"chain_id": HOME, "denom": _there("ATOM"), "released": True}
    # Once it has ended it is answered from memory: the chain may be gone.
    async with running(database, clock, None, chain=ChainNodes(rpc_urls=("http://127.0.0.1:1",))) as restarted:
        assert await restarted.get(path) == found


async def test_refused_swaps_give_the_coins_back(service: Service, chain: Chain) -> None:
    """A swap the DEX refuses, or that times out, is refunded, and its tracked state says so."""
    own = chain.wallet.address
    _, route = await service.ask("POST", ROUTE, _asked("ulsh", _denom("ATOM"), amount_in="1000000000"))
    greedy = {"amount_out": str(int(route["amount_out"]) * 2)}
    for kind, changes, words in (
        ("price", greedy, "the price moved"),
        ("affiliate", {}, "unknown oracle"),
        ("timeout", {}, "timed out"),
    ):
        if kind == "affiliate":
            bent = json.loads(json.dumps(route))
            bent["operations"][1]["swap"]["quote"]["oracle"] = own
            made = await _messages(service, bent, [own, own])
            words = "is no oracle of OSMOSIS"
        else:
            made = await _messages(service, route, [own, own], **changes)
        if kind == "timeout":
            chain.market.relayer.faults.append(Fault("transfer", "timeout"))
        before = chain.balance("ulsh")
        digest = chain.send(made["msgs"][0])
        await service.ask("POST", "/swap/v2/tx/track", {"chain_id": HOME, "tx_hash": digest})
        chain.seal(3)
        assert chain.balance("ulsh") == before - 2500
        await service.step("swaps")
        found = await service.get(f"/swap/v2/tx/status?tx_hash={digest}&chain_id={HOME}")
        assert found["state"] == found["status"] == "STATE_COMPLETED_ERROR"
        assert words in found["error"]["message"]
        assert found["transfer_asset_release"] == {"chain_id": HOME, "denom": "ulsh", "released": True}


async def test_two_venues_are_joined_by_the_native_token(service: Service, chain: Chain) -> None:
    """Between two venues a route takes two transactions; both together yield what was quoted."""
    own = chain.wallet.address
    source, target = _denom("ALL_ETH"), _denom("DYDX", NEUTRON)
    asked = _asked(source, target, amount_in=str(10**18))
    assert (await service.ask("POST", ROUTE, asked))[0] == 404
    status, route = await service.ask("POST", ROUTE, {**asked, "allow_multi_tx": True})
    assert status == 200, route
    assert route["txs_required"] == 2
    assert route["chain_ids"] == [HOME, OSMO, HOME, NEUT, HOME]
    affiliates = {
        OSMO: {"affiliates": [{"address": encode("osmo", bytes(20)), "basisPointsFee": "35"}]},
        NEUT: {"affiliates": [{"address": encode("neutron", bytes(20)), "basisPointsFee": "35"}]},
    }
    names = ("source_asset_denom", "source_asset_chain_id", "dest_asset_denom", "dest_asset_chain_id")
    body = {name: route[name] for name in (*names, "amount_in", "amount_out", "operations")}
    body |= {"address_list": [own, own], "chain_ids_to_affiliates": affiliates}
    _, made = await service.ask("POST", MESSAGES, body)
    assert [tx["operations_indices"] for tx in made["txs"]] == [[0, 1, 2], [3, 4, 5]]
    before, spent, native = chain.balance(target), chain.balance(source), chain.balance("ulsh")
    for tx in made["txs"]:
        chain.send(tx["cosmos_tx"]["msgs"][0])
        chain.seal(4)
    assert chain.balance(target) - before == int(route["amount_out"])
    assert spent - chain.balance(source) == 10**18
    assert native - chain.balance("ulsh") == 2 * 2500
    _, wanted = await service.ask(
        "POST", ROUTE, {**asked, "amount_in": None, "amount_out": "5000000", "allow_multi_tx": True}
    )
    assert int(wanted["amount_out"]) >= 5_000_000
    swapped = [{**step, "tx_index": 1 - step["tx_index"]} for step in reversed(route["operations"])]
    for operations in (swapped, route["operations"][:2] + route["operations"][3:], route["operations"] * 2):
        assert (await service.ask("POST", MESSAGES, {**body, "operations": operations}))[0] == 400


async def test_proceeds_may_stay_on_the_other_chain(service: Service, chain: Chain) -> None:
    """A route to another chain moves or swaps, and the receiver there holds the quoted amount."""
    own, there = chain.wallet.address, encode("neutron", chain.wallet.address_bytes)
    moved = _asked(_denom("ATOM", NEUTRON), _there("ATOM", NEUTRON), NEUT, amount_in="5000")
    swapped = _asked("ulsh", _there("NTRN", NEUTRON), NEUT, amount_in="700000000")
    for asked, steps in ((moved, ["transfer"]), (swapped, ["transfer", "swap"])):
        status, route = await service.ask("POST", ROUTE, asked)
        assert status == 200, route
        assert route["does_swap"] is (len(steps) == 2)
        assert [next(name for name in ("transfer", "swap") if name in step) for step in route["operations"]] == steps
        made = await _messages(service, route, [own, there])
        before = chain.held(there, asked["dest_asset_denom"])
        chain.send(made["msgs"][0])
        chain.seal(3)
        assert chain.held(there, asked["dest_asset_denom"]) - before == int(route["amount_out"])
    assert moved["amount_in"] == "5000"


async def test_a_wanted_amount_costs_the_least(service: Service, chain: Chain) -> None:
    """Given what should come out, the route asks for the least that yields it."""
    asked = _asked("ulsh", _denom("USDC_NOBLE"))
    _, wanted = await service.ask("POST", ROUTE, {**asked, "amount_out": "2000000"})
    assert int(wanted["amount_out"]) >= 2_000_000
    less = str(int(wanted["amount_in"]) - 1)
    _, fewer = await service.ask("POST", ROUTE, {**asked, "amount_in": less})
    assert int(fewer["amount_out"]) < 2_000_000
    assert Fraction(wanted["usd_amount_in"]) >= Fraction(wanted["usd_amount_out"]) > 0


async def test_odd_requests_are_refused(service: Service, chain: Chain) -> None:
    """Bad amounts, fees, assets, addresses and hashes are 400 or 404 in the router's envelope."""
    own = chain.wallet.address
    good = _asked("ulsh", _denom("ATOM"), amount_in="1000000000")
    for changes, status in (
        ({"amount_in": None}, 400),
        ({"amount_out": "1"}, 400),
        ({"amount_in": "0"}, 400),
        ({"amount_in": "-1"}, 400),
        ({"amount_in": "1.0"}, 400),
        ({"amount_in": "9" * 60}, 400),
        ({"amount_in": 5}, 400),
        ({"cumulative_affiliate_fee_bps": "10000"}, 400),
        ({"source_asset_denom": "nope"}, 404),
        ({"source_asset_chain_id": OSMO}, 404),
        ({"dest_asset_chain_id": "mars-1"}, 404),
        ({"dest_asset_denom": "ulsh"}, 404),
        ({"dest_asset_denom": _denom("DYDX", NEUTRON), "source_asset_denom": _denom("OSMO")}, 404),
        ({"amount_in": "1"}, 404),
    ):
        found, answer = await service.ask("POST", ROUTE, {**good, **changes})
        assert (found, answer["code"], answer["details"]) == (status, 3 if status == 400 else 5, []), changes
    _, route = await service.ask("POST", ROUTE, good)
    names = ("source_asset_denom", "source_asset_chain_id", "dest_asset_denom", "dest_asset_chain_id")
    body = {name: route[name] for name in (*names, "amount_in", "amount_out", "operations")}
    body["address_list"] = [own, own]
    transfer = route["operations"][0]
    for changes in (
        {"amount_in": "0"},
        {"operations": []},
        {"operations": [transfer, transfer]},
        {"operations": [{"transfer": {"port": "transfer"}}]},
        {"operations": [{**transfer, "transfer": {**transfer["transfer"], "channel": "channel-9"}}]},
        {"address_list": []},
        {"address_list": ["osmo1x", own]},
        {"address_list": [own, encode("osmo", bytes(20))]},
        {"slippage_tolerance_percent": "101"},
        {"slippage_tolerance_percent": "-1"},
        {"timeout_seconds": "0"},
        {"chain_ids_to_affiliates": {OSMO: {"affiliates": [{"address": own, "basisPointsFee": "35"}]}}},
        {"chain_ids_to_affiliates": {OSMO: {"affiliates": [{"address": "osmo1x", "basisPointsFee": "36"}]}}},
    ):
        found, answer = await service.ask("POST", MESSAGES, {**body, **changes})
        assert (found, answer["code"]) == (400, 3), changes
    for path in (f"tx_hash=zz&chain_id={HOME}", f"tx_hash={'AB' * 32}&chain_id=mars-1", f"tx_hash={'AB' * 32}"):
        assert (await service.ask("GET", f"/swap/v2/tx/status?{path}"))[0] == 400
    assert (await service.ask("POST", "/swap/v2/tx/track", {"chain_id": HOME, "tx_hash": "BAD"}))[0] == 400


async def test_a_transaction_nobody_sees_is_abandoned(service: Service) -> None:
    """A followed hash that never reaches a block ends as abandoned."""
    body = {"chain_id": HOME, "tx_hash": "AB" * 32}
    await service.ask("POST", "/swap/v2/tx/track", body)
    await service.step("swaps")
    path = f"/swap/v2/tx/status?tx_hash={'AB' * 32}&chain_id={HOME}"
    assert (await service.get(path))["state"] == "STATE_SUBMITTED"
    service.clock.advance(seconds=181)
    await service.step("swaps")
    assert (await service.get(path))["state"] == "STATE_ABANDONED"


async def test_ended_swaps_are_forgotten_and_open_ones_bounded(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An end is remembered for a week; no more are followed at once than the bound allows."""
    monkeypatch.setattr(tracking, "MOST_OPEN", 2)
    body = {"chain_id": HOME, "tx_hash": "AB" * 32}
    assert (await service.ask("POST", "/swap/v2/tx/track", body))[0] == 200
    assert (await service.ask("POST", "/swap/v2/tx/track", {**body, "tx_hash": "CD" * 32}))[0] == 200
    status, answer = await service.ask("POST", "/swap/v2/tx/track", {**body, "tx_hash": "EF" * 32})
    assert (status, answer["code"]) == (429, 8)
    service.clock.advance(seconds=int(tracking.UNSEEN.total_seconds()) + 1)
    await service.step("swaps")
    count = "SELECT count(*) FROM upstreams.tracked_swaps"
    database = service.upstreams.database
    assert await database.fetchval(f"{count} WHERE state = 'STATE_ABANDONED'") == 2
    service.clock.advance(seconds=int(tracking.KEPT.total_seconds()) - 10)
    await service.step("swaps")
    assert await database.fetchval(count) == 2
    service.clock.advance(seconds=20)
    await service.step("swaps")
    assert await database.fetchval(count) == 0


async def test_chains_venues_and_assets_are_listed(service: Service) -> None:
    """The home chain and the connected ones, svm only where asked for, and every asset on both sides."""
    chains = (await service.get("/swap/v2/info/chains"))["chains"]
    assert [one["chain_id"] for one in chains] == [HOME, NEUT, OSMO]
    assert [one["bech32_prefix"] for one in chains] == ["chain", "neutron", "osmo"]
    more = (await service.get("/swap/v2/info/chains?include_evm=true&include_svm=true"))["chains"]
    assert [one["chain_type"] for one in more] == ["cosmos", "cosmos", "cosmos", "svm"]
    assert {one["name"] for one in (await service.get("/swap/v2/fungible/venues"))["venues"]} == {
        "osmosis-poolmanager",
        "neutron-astroport",
    }
    assets = (await service.get(f"/swap/v2/fungible/assets?chain_ids={HOME},{OSMO}"))["chain_to_assets_map"]
    assert set(assets) == {HOME, OSMO}
    listed = {one["denom"]: one for one in assets[HOME]["assets"]}
    assert listed["ulsh"]["symbol"] == "LSH"
    assert listed[_denom("ALL_ETH")]["decimals"] == 18


async def test_answers_have_the_recorded_form(service: Service, chain: Chain, recorded: dict[str, Any]) -> None:
    """Routes, messages, tracked states, chains and errors have the recorded members, of the recorded kinds."""
    own = chain.wallet.address
    _, route = await service.ask("POST", ROUTE, _asked("ulsh", _denom("ATOM"), amount_in="1000000000"))
    theirs = next(one["answer"] for key, one in recorded.items() if key.startswith("POST /v2/fungible/route"))
    transfer, swap = theirs["operations"]
    # These members are the stub's own inventions, to see what a client does with them.
    theirs = {name: value for name, value in theirs.items() if name not in ("big", "small", "int_float", "operations")}
    step = {name: value for name, value in transfer["transfer"].items() if name not in ("z_first", "a_second")}
    assert differences(route, theirs) == []
    assert differences(route["operations"][0], {**transfer, "transfer": step}) == []
    assert differences(route["operations"][1], swap) == []
    body = {name: route[name] for name in theirs if name in route} | {"operations": route["operations"]}
    _, messages = await service.ask("POST", MESSAGES, {**body, "address_list": [own, own]})
    theirs = next(one["answer"] for key, one in recorded.items() if key.startswith("POST /v2/fungible/msgs"))
    assert differences(messages, {**theirs, "txs": theirs["txs"][:1]}) == []
    digest = chain.send(messages["txs"][0]["cosmos_tx"]["msgs"][0])
    _, tracked = await service.ask("POST", "/swap/v2/tx/track", {"chain_id": HOME, "tx_hash": digest})
    theirs = next(one["answer"] for key, one in recorded.items() if key.startswith("POST /v2/tx/track"))
    assert differences(tracked, {name: value for name, value in theirs.items() if name != "extra"}) == []
    chain.seal(2)
    status = await service.get(f"/swap/v2/tx/status?tx_hash={digest}&chain_id={HOME}")
    theirs = next(one["answer"] for key, one in recorded.items() if "tx_hash=PENDINGTX" in key)
    assert differences(status, theirs) == []
    chains = await service.get("/swap/v2/info/chains")
    assert differences(chains, recorded["GET /v2/info/chains"]["answer"]) == []
    missing = await service.ask("GET", f"/swap/v2/tx/status?tx_hash={'AB' * 32}&chain_id={HOME}")
    theirs = next(one for key, one in recorded.items() if "tx_hash=NOTFOUND" in key)
    assert missing == (theirs["status"], theirs["answer"])
    refused = await service.ask("POST", ROUTE, _asked("nope", _denom("ATOM"), amount_in="5"))
    assert refused == (404, {"code": 5, "message": "no routes found", "details": []})


async def test_a_silent_chain_is_a_502(database: str, clock: ManualClock) -> None:
    """Without a node the router answers 502 in its envelope, and the other services go on."""
    async with running(database, clock, None, chain=ChainNodes(rpc_urls=("http://127.0.0.1:1",))) as service:
        status, answer = await service.ask("GET", "/swap/v2/info/chains")
        assert (status, answer["code"]) == (502, 14)
        assert (await service.ask("GET", "/referral/api/referrals/validate/X"))[0] == 200
