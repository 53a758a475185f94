"""The service as a whole: steps that go on, probes, and the application API's own clients on the other side."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace

import aiohttp
import pytest
from tests.unit.upstreams.conftest import FakeChain, IndexRows, Service, lease, running, wallet

from leasehold.app_api.upstreams.payments import PaymentsManager
from leasehold.app_api.upstreams.referral import ReferralService
from leasehold.app_api.upstreams.svm import SvmNode
from leasehold.app_api.upstreams.transport import Transport
from leasehold.core.clock import ManualClock, SystemClock
from leasehold.core.configuration import load
from leasehold.core.errors import ConfigurationError, UpstreamFailure
from leasehold.core.metrics import Metrics
from leasehold.core.settings import Upstreams as UpstreamSettings
from leasehold.serving.service import serving
from leasehold.upstreams.service import Steps, Upstreams, application

OWNER, REFERRER = wallet("owner"), wallet("referrer")


async def test_a_failing_step_is_taken_again_later(clock: ManualClock) -> None:
    """A step that fails is counted and repeated; one that has more to do goes on at once."""
    metrics, taken, enough = Metrics(), 0, asyncio.Event()

    async def step() -> bool:
        nonlocal taken
        taken += 1
        if taken == 5:
            enough.set()
        if taken == 1:
            raise UpstreamFailure("the node is away", upstream="node")
        return taken < 4

    task = asyncio.create_task(Steps(metrics, clock, pause=0.01).keep("rewards", step))
    await asyncio.wait_for(enough.wait(), 60)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    text = metrics.exposition().decode()
    assert 'leasehold_step_failures_total{part="rewards"} 1.0' in text
    assert 'leasehold_step_age_seconds{part="rewards"} 0.0' in text


async def test_the_ledgers_move_by_themselves(database: str, index: IndexRows) -> None:
    """A running service rewards an indexed lease without being asked, and survives a chain that is away."""
    loaded = load().settings
    nodes = replace(loaded.chain, rpc_urls=("http://127.0.0.1:1",))
    settings = replace(loaded, database=replace(loaded.database, url=database), chain=nodes)
    async with serving(application(settings, SystemClock())) as server, aiohttp.ClientSession(server.url) as session:
        base = "/referral/api"
        async with session.post(f"{base}/referrers/register", json={"wallet_address": REFERRER}) as response:
            code = (await response.json())["data"]["referral_code"]
        body = {"referral_code": code, "referred_wallet": OWNER}
        async with session.post(f"{base}/referrals/assign", json=body) as response:
            assert response.status == 201
        await index.opened(lease(1), OWNER)
        total = 0
        async with asyncio.timeout(60):
            while not total:
                await asyncio.sleep(0.05)
                async with session.get(f"{base}/referrers/{REFERRER}/rewards") as response:
                    total = (await response.json())["data"]["total"]
        async with session.get("/ready") as response:
            assert response.status == 200
        async with session.get("/metrics") as response:
            assert "leasehold_step_age_seconds" in await response.text()


async def test_the_application_clients_understand_us(service: Service, index: IndexRows) -> None:
    """The application API's clients read every answer of ours as their own types."""
    async with aiohttp.ClientSession() as session:

        def transport(name: str) -> Transport:
            return Transport(name, f"{service.url}/{name}", session)

        referral = ReferralService(transport("referral"))
        assert (await referral.validate("X")).valid is False
        assert await referral.stats(REFERRER) is None
        _, made = await service.ask("POST", "/referral/api/referrers/register", {"wallet_address": REFERRER})
        body = {"referral_code": made["data"]["referral_code"], "referred_wallet": OWNER}
        await service.ask("POST", "/referral/api/referrals/assign", body)
        await index.opened(lease(1), OWNER)
        await service.step("rewards")
        await service.step("payouts")
        stats = await referral.stats(REFERRER)
        assert stats is not None
        assert stats.stats.total_referrals == 1
        assert (await referral.rewards(REFERRER, limit=1, status="included")).total == 1
        assert (await referral.payouts(REFERRER)).payouts[0].status == "pending"
        assert (await referral.referrals(REFERRER)).referrals[0].referred_wallet == OWNER
        payments = PaymentsManager(transport("payments"))
        assert (await payments.active_campaigns()).has_universal_campaign
        assert (await payments.campaign_eligibility(OWNER, "OSMOSIS", "ATOM")).eligible
        assert (await payments.config()).enabled
        assert (await payments.eligibility(lease(1), OWNER)).max_amount == "100000000"
        assert await payments.payments_of_owner(OWNER) == []
        assert await payments.payments_of_lease(lease(1)) == []
        svm = SvmNode(transport("svm"))
        assert await svm.lamports("4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T") == 0
        assert (await svm.epoch()).absoluteSlot == 1000


def test_a_bad_program_id_is_a_configuration_error(clock: ManualClock) -> None:
    """A program id that is no address stops the service with a hint."""
    settings = replace(load().settings, upstreams=UpstreamSettings(svm_program_id="nope"))
    with pytest.raises(ConfigurationError, match="svm_program_id"):
        Upstreams.assembled(settings, clock)


async def test_ready_says_when_the_database_is_gone(database: str, clock: ManualClock) -> None:
    """Without its database the service is not ready, and says so."""
    async with running(database, clock, FakeChain()) as service:
        assert (await service.ask("GET", "/health"))[0] == 200
        lost: Callable[[], object] = service.upstreams.database.read.terminate
        lost()
        assert (await service.ask("GET", "/ready"))[0] == 503
