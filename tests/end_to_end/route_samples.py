"""A sensible request for every documented route of the application API, against a stack that lives."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any
from urllib.request import Request, urlopen

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tests.end_to_end.builder_client import IDENTITY, PROTOCOL, Client, ask, routed
from tests.end_to_end.builder_lives import DOWN, proposed, validators
from tests.end_to_end.conftest import Stack

from leasehold.chain.svm.addresses import address_bytes, encode
from leasehold.chain.svm.programs import voucher_mint
from leasehold.chain.svm.transactions import parse
from leasehold.core.configuration import load

SVM_PROTOCOL = "SOLANA-RAYDIUM-USDC"
MINT = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
AUTH = "c2l4dGVlbiBieXRlcyAhIQ"


class SvmWallet:
    """A wallet on the SVM stand-in of a stack."""

    def __init__(self, url: str, seed: int) -> None:
        self._url = f"{url}/svm"
        self._key = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
        self.address = encode(self._key.public_key().public_bytes_raw())

    def call(self, method: str, *params: Any) -> Any:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}).encode()
        with urlopen(Request(self._url, body, {"Content-Type": "application/json"}), timeout=20) as reply:
            answer = json.loads(reply.read())
        assert "error" not in answer, answer
        return answer["result"]

    def fund(self, mint: str, amount: int) -> None:
        """Lamports for fees, and tokens of a mint."""
        self.call("requestAirdrop", self.address, 10**9)
        self.call("standinMintTo", self.address, mint, amount, 6)

    def sign_and_send(self, built: dict[str, Any]) -> str:
        """The signature of a built transaction, once the node has taken it."""
        message = parse(base64.b64decode(built["transaction"])).message.raw
        sent = base64.b64encode(b"\x01" + self._key.sign(message) + message).decode()
        return str(self.call("sendTransaction", sent, {"encoding": "base64"}))


def browser() -> dict[str, Any]:
    """A push subscription as a browser makes one."""
    point = ec.generate_private_key(ec.SECP256R1()).public_key()
    key = base64.urlsafe_b64encode(point.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))
    keys = {"p256dh": key.rstrip(b"=").decode(), "auth": AUTH}
    return {"endpoint": "https://push.example.org/abc", "expirationTime": None, "keys": keys}


@dataclass
class Facts:
    """What requests are about: accounts, a lease, and what earlier requests brought forth."""

    client: Client
    svm: SvmWallet
    lease: str
    proposal: str
    usdc: str
    code: str
    stranger: str
    swap: dict[str, Any]
    tracked: str
    payment: str
    transfer: str


def reads(facts: Facts) -> dict[str, str]:
    """A path for every documented read."""
    me, lease, first = facts.client.address, facts.lease, validators()[0]
    plain = (
        "assets",
        "campaigns/active",
        "zero-interest/config",
        "config",
        "config/networks",
        "config/protocols",
        "currencies",
        "earn/pools",
        "earn/stats",
        "etl/batch/loans-stats",
        "etl/batch/stats-overview",
        "fees/gas-config",
        "governance/hidden-proposals",
        "governance/staking-pool",
        "governance/apr",
        "governance/params/tallying",
        "health",
        "health/detailed",
        "networks/gated",
        "node/info",
        "node/status",
        "prices",
        "protocols",
        "protocols/active",
        "protocols/gated",
        "solana/transfer-params",
        "staking/validators",
        "staking/params",
        "swap/config",
        "swap/chains",
        "etl/subscriptions/key",
    )
    return {f"/api/{path}": f"/api/{path}" for path in plain} | {
        "/api/assets/{ticker}": "/api/assets/ATOM",
        "/api/balances": f"/api/balances?address={me}",
        "/api/campaigns/eligibility": f"/api/campaigns/eligibility?wallet={me}&protocol={PROTOCOL}&currency=ATOM",
        "/api/zero-interest/eligibility": f"/api/zero-interest/eligibility?lease={lease}&owner={me}",
        "/api/zero-interest/payments/by-owner/{owner}": f"/api/zero-interest/payments/by-owner/{me}",
        "/api/zero-interest/lease/{lease_address}/payments": f"/api/zero-interest/lease/{lease}/payments",
        "/api/currencies/{key}": f"/api/currencies/ATOM@{PROTOCOL}",
        "/api/earn/pools/{pool_id}": f"/api/earn/pools/{PROTOCOL}",
        "/api/earn/positions": f"/api/earn/positions?address={me}",
        "/api/etl/batch/user-dashboard": f"/api/etl/batch/user-dashboard?address={me}",
        "/api/etl/batch/user-history": f"/api/etl/batch/user-history?address={me}",
        "/api/etl/txs": f"/api/etl/txs?address={me}&skip=0&limit=5",
        "/api/etl/subscriptions": f"/api/etl/subscriptions?address={me}&auth={AUTH}",
        "/api/etl/{path}": "/api/etl/pools",
        "/api/governance/proposals": f"/api/governance/proposals?limit=5&voter={me}",
        "/api/governance/proposals/{proposal_id}/tally": f"/api/governance/proposals/{facts.proposal}/tally",
        "/api/governance/proposals/{proposal_id}/votes/{voter}": (
            f"/api/governance/proposals/{facts.proposal}/votes/{me}"
        ),
        "/api/governance/accounts/{address}": f"/api/governance/accounts/{me}",
        "/api/governance/denoms/{denom}": f"/api/governance/denoms/{IDENTITY.base_denom}",
        "/api/leases": f"/api/leases?address={me}&protocol={PROTOCOL}",
        "/api/leases/{address}": f"/api/leases/{lease}?protocol={PROTOCOL}",
        "/api/leases/{address}/history": f"/api/leases/{lease}/history",
        "/api/leases/config/{protocol}": f"/api/leases/config/{PROTOCOL}",
        "/api/locales/{lang}": "/api/locales/en",
        **{
            f"/api/networks/{{network}}/{part}": f"/api/networks/OSMOSIS/{part}"
            for part in ("info", "assets", "protocols", "pools")
        },
        "/api/protocols/{protocol}/currencies": f"/api/protocols/{PROTOCOL}/currencies",
        "/api/referral/validate/{code}": f"/api/referral/validate/{facts.code}",
        "/api/referral/stats/{address}": f"/api/referral/stats/{me}",
        "/api/referral/rewards/{address}": f"/api/referral/rewards/{me}?status=pending&limit=5&offset=0",
        "/api/referral/payouts/{address}": f"/api/referral/payouts/{me}?status=confirmed",
        "/api/referral/referrals/{address}": f"/api/referral/referrals/{me}?status=active",
        "/api/solana/balances/{address}": f"/api/solana/balances/{facts.svm.address}",
        "/api/staking/validators/{address}": f"/api/staking/validators/{first}",
        "/api/staking/positions": f"/api/staking/positions?address={me}",
        "/api/swap/status/{tx_hash}": f"/api/swap/status/{facts.tracked}?chain_id={IDENTITY.chain_id}",
        "/api/transfer/status/{id}": f"/api/transfer/status/{facts.transfer}",
    }


def writes(facts: Facts) -> dict[str, tuple[str, dict[str, Any]]]:
    """A path and a body for every documented write."""
    me, lease = facts.client.address, facts.lease
    first, second = validators()
    stake = {"validator_address": first, "amount": "1000000", "denom": IDENTITY.base_denom, "sender": me}
    move = {"src_validator_address": first, "dst_validator_address": second, "amount": "1", "sender": me}
    token = {"wallet": me, "wallet_type": "keplr"}
    pool = {"protocol": PROTOCOL, "amount": "5000000"}
    opening = {**DOWN, "lease_ticker": "ATOM", "max_ltd": 1000}
    send = {
        "sender": facts.svm.address,
        "recipient": me,
        "amount": "5",
        "timeout": {"timestamp": 2_000_000_000_000_000_000},
    }
    leg = {"revision_number": 0, "revision_height": 10**9}
    track = {
        "direction": f"{IDENTITY.prefix}_to_solana",
        "channel": "channel-4200",
        "legs": [{"from_chain": IDENTITY.prefix, "to_chain": "solana", "timeout_height": leg}],
    }
    bodies = {
        "/api/earn/deposit": {**pool, "sender": me},
        "/api/earn/withdraw": pool,
        "/api/earn/claim-rewards": {"protocol": PROTOCOL},
        "/api/leases/quote": opening,
        "/api/leases/open": {**opening, "sender": me},
        "/api/leases/repay": {"lease_address": lease, "amount": "5000000", "sender": me},
        "/api/leases/close": {"lease_address": lease, "sender": me},
        "/api/leases/market-close": {"lease_address": lease},
        "/api/leases/partial-close": {"lease_address": lease, "amount": "5000000"},
        "/api/leases/close-policy": {"lease_address": lease, "stop_loss": 850, "sender": me},
        "/api/staking/delegate": stake,
        "/api/staking/stake": stake,
        "/api/staking/undelegate": {**stake, "amount": "1"},
        "/api/staking/redelegate": move,
        "/api/staking/claim-rewards": {"validator_addresses": [first, second]},
        "/api/governance/vote": {"proposal_id": facts.proposal, "option": "yes", "sender": me},
        "/api/swap/route": {name: facts.swap[name] for name in facts.swap if "asset" in name or name == "amount_in"},
        "/api/swap/messages": facts.swap,
        "/api/swap/track": {"chain_id": IDENTITY.chain_id, "tx_hash": facts.tracked},
        "/api/referral/register": {"wallet_address": me},
        "/api/referral/assign": {"referral_code": facts.code, "referred_wallet": facts.stranger},
        "/api/zero-interest/payments": {
            "lease_address": lease,
            "amount": "1000000",
            "denom": facts.usdc,
            "owner_address": me,
            "signature": "opaque",
        },
        "/api/etl/subscribe": {"address": me, "data": browser()},
        "/api/messaging/hash": token,
        "/api/intercom/hash": token,
        "/api/solana/tx/create-ata": {"owner": facts.svm.address, "currency": f"SOL@{SVM_PROTOCOL}"},
        "/api/solana/tx/send-source": {**send, "currency": f"USDC@{SVM_PROTOCOL}"},
        "/api/solana/tx/send-sink": {**send, "currency": f"{IDENTITY.display}@{SVM_PROTOCOL}"},
        "/api/transfer/track": track,
    }
    return {path: (path, body) for path, body in bodies.items()} | {
        "/api/zero-interest/payments/{payment_id}": (
            f"/api/zero-interest/payments/{facts.payment}",
            {"owner_address": me, "signature": "opaque"},
        ),
    }


def facts_of(market: Stack, alice: Client, lease: str) -> Facts:
    """Bring forth what every route can be asked about."""
    app = market.url("app_api")
    wallet = SvmWallet(market.url("upstreams"), 9)
    wallet.fund(MINT, 1_000)
    program = address_bytes(load(profile="devnet").settings.upstreams.svm_program_id)
    wallet.fund(encode(voucher_mint(program, IDENTITY.base_denom)), 1_000)
    usdc = alice.get(f"/api/currencies/USDC_NOBLE@{PROTOCOL}")["bank_symbol"]
    stake = {"validator_address": validators()[0], "amount": "10000000", "sender": alice.address}
    staked = alice.signed(alice.build("/api/staking/delegate", stake))
    alice.build("/api/swap/track", {"chain_id": IDENTITY.chain_id, "tx_hash": staked["txhash"]})
    payment = {"lease_address": lease, "amount": "1000000", "denom": usdc, "owner_address": alice.address}
    leg = {"revision_number": 0, "revision_height": 10**9}
    track = {
        "direction": f"{IDENTITY.prefix}_to_solana",
        "channel": "channel-4200",
        "legs": [{"from_chain": IDENTITY.prefix, "to_chain": "solana", "timeout_height": leg}],
    }
    return Facts(
        client=alice,
        svm=wallet,
        lease=lease,
        proposal=proposed(Client(market, "carol")),
        usdc=usdc,
        code=ask(f"{app}/api/referral/register", {"wallet_address": alice.address})[1]["referral_code"],
        stranger=Client(market, "erin").address,
        swap=routed(alice, usdc, IDENTITY.base_denom, "50000000"),
        tracked=staked["txhash"],
        payment=alice.build("/api/zero-interest/payments", {**payment, "signature": "opaque"})["payment"]["id"],
        transfer=alice.build("/api/transfer/track", track)["id"],
    )
