"""The services a stack can have: where each lives, what it needs, in the order they start."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from leasehold.cli.entries import exists
from leasehold.cli.options import nearest
from leasehold.core.errors import ConfigurationError
from leasehold.core.settings import Settings


@dataclass(frozen=True, slots=True)
class Service:
    """One service: its command, its package, the listen settings that are its ports, whether it uses PostgreSQL."""

    name: str
    package: str
    ports: tuple[str, ...]
    database: bool

    @property
    def module(self) -> str:
        return f"leasehold.{self.package}.service"


# In the order in which each finds what it needs already running.
SERVICES = (
    Service("devnet", "devnet", ("rpc", "lcd", "grpc", "control"), database=False),
    Service("index", "indexer", ("indexer",), database=True),
    Service("data-api", "data_api", ("data_api",), database=True),
    Service("upstreams", "upstreams", ("upstreams",), database=True),
    Service("app-api", "app_api", ("app_api",), database=True),
    Service("supply-api", "supply_api", ("supply_api",), database=False),
)


def present() -> list[Service]:
    """The services this installation has."""
    return [service for service in SERVICES if exists(service.module)]


def named(name: str) -> Service:
    """The service whose command has this name."""
    return next(service for service in SERVICES if service.name == name)


def selected(settings: Settings, only: Sequence[str]) -> list[Service]:
    """The services `up` runs: those asked for, else all; no devnet where the settings name the nodes of a chain."""
    available = present()
    if not only:
        return [service for service in available if service.name != "devnet" or not settings.chain.rpc_urls]
    names = [service.name for service in available]
    for name in only:
        if name not in names:
            known = nearest(name, names) if names else "none"
            raise ConfigurationError(f"no service {name!r}; did you mean {known!r}?", hint=f"there are {_list(names)}")
    return [service for service in available if service.name in only]


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
