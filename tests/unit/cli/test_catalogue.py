"""The catalogue selects what a stack runs, in an order in which everything finds what it needs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leasehold.cli import catalogue
from leasehold.cli.entries import ENTRIES
from leasehold.core.errors import ConfigurationError
from leasehold.core.settings import ChainNodes, Settings

SERVING = ("leasehold.cli.service", "leasehold.cli.devnet")


@pytest.fixture(autouse=True)
def all_present(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "exists", lambda _: True)


def names(settings: Settings, *only: str) -> list[str]:
    return [service.name for service in catalogue.selected(settings, only)]


def test_every_service_is_a_command_and_the_other_way_round() -> None:
    """The table of commands and the table of services agree, modules included."""
    services = {service.name: service.module for service in catalogue.SERVICES}
    assert {name: ENTRIES[name].needs for name in services} == services
    assert {name for name, entry in ENTRIES.items() if entry.module in SERVING} <= set(services)


def test_ports_are_settings_and_no_two_are_the_same() -> None:
    """Each port of a service is a listen setting; by default none collides."""
    ports = [Settings().port(name) for service in catalogue.SERVICES for name in service.ports]
    assert len(set(ports)) == len(ports)


def test_all_run_by_default_chain_first() -> None:
    """Without --only everything runs, in dependency order."""
    assert names(Settings()) == ["devnet", "index", "data-api", "upstreams", "app-api", "supply-api"]


def test_real_nodes_replace_the_devnet() -> None:
    """Settings that name a chain's nodes need no devnet, unless it is asked for."""
    real = replace(Settings(), chain=ChainNodes(rpc_urls=("http://127.0.0.1:1",)))
    assert "devnet" not in names(real)
    assert names(real, "devnet") == ["devnet"]


def test_only_selects_in_start_order() -> None:
    """The order of --only does not matter."""
    assert names(Settings(), "supply-api", "devnet") == ["devnet", "supply-api"]


def test_an_unknown_service_names_the_nearest() -> None:
    """A mistyped --only says what was meant and what there is."""
    with pytest.raises(ConfigurationError, match=r"did you mean 'data-api'.*devnet, index"):
        names(Settings(), "dta-api")


def test_a_missing_service_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not installed is left out by default and an error when asked for."""
    monkeypatch.setattr(catalogue, "exists", lambda module: "supply" in module)
    assert names(Settings()) == ["supply-api"]
    with pytest.raises(ConfigurationError):
        names(Settings(), "devnet")
