"""The upstreams as one service: four APIs under one port, each with its ledger and what moves it on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal

import aiohttp
import asyncpg

from leasehold.chain.client.nodes import Nodes
from leasehold.chain.client.rpc import RpcNode
from leasehold.chain.registry import registry
from leasehold.chain.svm import programs as svm_programs
from leasehold.chain.svm.addresses import address_bytes, encode
from leasehold.chain.wallet import Wallet
from leasehold.core import logging
from leasehold.core.addresses import Bech32Prefixes, InvalidAddress
from leasehold.core.background import background
from leasehold.core.clock import Clock, SystemClock
from leasehold.core.errors import ConfigurationError, LeaseholdError, NotReady
from leasehold.core.metrics import Metrics
from leasehold.core.service_context import ServiceContext
from leasehold.core.settings import Settings
from leasehold.serving.routes import PlainRequest, Registry
from leasehold.serving.service import run as serve
from leasehold.storage import migrations, pool
from leasehold.upstreams import access
from leasehold.upstreams.chain_access import ChainAccess
from leasehold.upstreams.dialects import UpstreamApplication, UpstreamDialect
from leasehold.upstreams.disbursement import Disbursements
from leasehold.upstreams.index import Index
from leasehold.upstreams.payments import routes as payment_routes
from leasehold.upstreams.payments import wire as payment_wire
from leasehold.upstreams.payments.campaigns import Campaigns
from leasehold.upstreams.payments.ledger import PaymentLedger
from leasehold.upstreams.referral import routes as referral_routes
from leasehold.upstreams.referral.earning import Earner
from leasehold.upstreams.referral.ledger import ReferralLedger
from leasehold.upstreams.referral.paying import PayoutPlanner
from leasehold.upstreams.svm import rpc as svm_rpc
from leasehold.upstreams.svm.ledger import SvmLedger
from leasehold.upstreams.swap import routes as swap_routes
from leasehold.upstreams.swap.markets import Markets
from leasehold.upstreams.swap.messages import Composer
from leasehold.upstreams.swap.routing import Router
from leasehold.upstreams.swap.tracking import Tracker

SCHEMA = "upstreams"
STEP_SECONDS = 1.0
LONGEST_PAUSE = 30.0
_log = logging.get("upstreams")

Step = Callable[[], Awaitable[bool]]


class LateDatabase(pool.Database):
    """The pools of the service, which are opened when it starts: routes are declared before that."""

    def __init__(self) -> None:
        self.patience = 0.0

    def attach(self, opened: pool.Database) -> None:
        """Use these pools from now on."""
        self.read, self.primary, self.patience = opened.read, opened.primary, opened.patience


@dataclass(slots=True)
class Upstreams:
    """Everything the service consists of."""

    settings: Settings
    database: LateDatabase
    chain: ChainAccess
    campaigns: Campaigns
    svm: SvmLedger
    steps: dict[str, Step]
    registry: Registry

    @classmethod
    def assembled(cls, settings: Settings, clock: Clock, chain: ChainAccess | None = None) -> Upstreams:
        """The services of the settings, not yet connected to anything; a test brings a chain of its own."""
        identity = settings.identity
        prefixes = Bech32Prefixes(identity.prefix)
        database, index = LateDatabase(), Index()
        chain = chain or ChainAccess(registry(identity.namespace), prefixes, settings.chain.admin_contract)
        referral = ReferralLedger(database, clock, identity.base_denom, index)
        disbursements = Disbursements(
            database,
            clock,
            chain,
            identity.chain_id,
            identity.base_denom,
            Decimal(settings.devnet.minimum_gas_price),
            _payer(settings, chain),
        )
        campaigns = Campaigns(database, clock, index)
        payments = PaymentLedger(database, clock, index, campaigns)
        markets = Markets(chain, clock)
        tracker = Tracker(database, clock, chain, markets, identity.chain_id)
        svm = SvmLedger(database, clock, _program(settings))
        api = Registry("Upstreams", version="1.0.0", dialect=UpstreamDialect())
        app = settings.app_api
        referral_routes.declare(api, referral, disbursements, prefixes, access.bearer(app.referral_token))
        payment_routes.declare(api, campaigns, payments, prefixes, access.bearer(app.payments_token))
        swap_routes.declare(
            api,
            identity,
            markets,
            Router(chain, markets, identity.chain_id, identity.base_denom),
            Composer(chain, markets, clock, identity.chain_id, prefixes),
            tracker,
            access.raw_key(app.swap_api_key),
        )
        svm_rpc.declare(api, svm_rpc.SvmRpc(svm))
        _declare_probes(api, database)
        steps: dict[str, Step] = {
            "rewards": Earner(referral, identity.display, identity.exponent).step,
            "payouts": PayoutPlanner(referral, 10**identity.exponent).step,
            "disbursements": disbursements.step,
            "payments": payments.step,
            "swaps": tracker.step,
            "packets": svm.step,
        }
        return cls(settings, database, chain, campaigns, svm, steps, api)

    @asynccontextmanager
    async def running(self, clock: Clock, metrics: Metrics | None = None) -> AsyncIterator[None]:
        """Connect the services and keep their ledgers moving for as long as the context lasts."""
        settings = self.settings
        async with AsyncExitStack() as stack:
            primary = pool.primary_url(settings.database)
            await migrations.apply(primary, schema=SCHEMA, migrations=migrations.of_package("leasehold.upstreams"))
            self.database.attach(await stack.enter_async_context(pool.opened(settings.database, service="upstreams")))
            session = await stack.enter_async_context(aiohttp.ClientSession())
            urls = settings.chain.rpc_urls or (settings.url("rpc"),)
            self.chain.nodes = Nodes([RpcNode(url, session) for url in urls], clock)
            await self.svm.start()
            await self.svm.issue(_mints(settings, self.svm.program))
            if not settings.chain.rpc_urls:
                await self.campaigns.seed(
                    payment_wire.CampaignRequest("Development", description="Everyone on the embedded chain")
                )
            steps = Steps(metrics or Metrics(), clock)
            for name, step in self.steps.items():
                await stack.enter_async_context(background(steps.keep(name, step), name=name))
            yield


class Steps:
    """The ledgers' steps, each taken again and again, with what is known about how that goes."""

    def __init__(self, metrics: Metrics, clock: Clock, *, pause: float = STEP_SECONDS) -> None:
        self._clock = clock
        self._pause = pause
        self._failures = metrics.counter("step_failures", "Steps of a ledger that failed", ("part",))
        self._ages = metrics.gauge("step_age_seconds", "Seconds since a ledger's last good step", ("part",))

    async def keep(self, name: str, step: Step) -> None:
        """Take a step until cancelled, later and later while it fails."""
        wait, good = self._pause, self._clock.monotonic()
        self._ages.labels(name).set_function(lambda: self._clock.monotonic() - good)
        while True:
            try:
                more = await step()
                wait, good = 0.0 if more else self._pause, self._clock.monotonic()
            except (LeaseholdError, asyncpg.PostgresError) as error:
                wait = min(max(wait, self._pause) * 2, LONGEST_PAUSE)
                self._failures.labels(name).inc()
                _log.warning("a step failed", part=name, error=str(error), retry_seconds=wait)
            await asyncio.sleep(wait)


def _declare_probes(api: Registry, database: pool.Database) -> None:
    @api.get("/health", summary="Whether the service runs", tags=("Health",), rate="none")
    async def health(request: PlainRequest) -> dict[str, str]:
        return {"status": "ok"}

    @api.get("/ready", summary="Whether its database answers", tags=("Health",), rate="none", errors=(503,))
    async def ready(request: PlainRequest) -> dict[str, str]:
        try:
            await database.ping()
        except pool.DatabaseUnavailable as error:
            raise NotReady(error.message) from error
        return {"status": "ready"}


def _payer(settings: Settings, chain: ChainAccess) -> Wallet | None:
    words = settings.upstreams.payer_mnemonic
    return Wallet.from_mnemonic(words, prefix=settings.identity.prefix, types=chain.types) if words else None


def _program(settings: Settings) -> bytes:
    try:
        return address_bytes(settings.upstreams.svm_program_id)
    except InvalidAddress as error:
        raise ConfigurationError(
            f"setting upstreams.svm_program_id is no address: {error.message}", hint="base58 of 32 bytes"
        ) from error


def application(settings: Settings, clock: Clock | None = None) -> UpstreamApplication:
    """The service as an application whose lifespan connects it."""
    used = clock or SystemClock()
    upstreams = Upstreams.assembled(settings, used)
    metrics = Metrics()
    return UpstreamApplication(
        upstreams.registry,
        limits=settings.limits,
        metrics=metrics,
        clock=used,
        lifespan=lambda: upstreams.running(used, metrics),
    )


def run(context: ServiceContext) -> None:
    """Serve until told to stop."""
    settings = context.settings
    serve(
        application(settings),
        host=settings.listen.host,
        port=settings.port("upstreams"),
        ready=lambda running: context.ready(f"listening on {running.url}"),
    )


def _mints(settings: Settings, program: bytes) -> dict[str, int]:
    """Mints that are there from the beginning: those everybody knows, and the voucher of our own token."""
    voucher = svm_programs.voucher_mint(program, settings.identity.base_denom)
    return {**svm_programs.WELL_KNOWN_MINTS, encode(voucher): settings.identity.exponent}
