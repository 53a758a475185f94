"""The subcommands there are, as help shows them, known without importing any."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """A subcommand as help shows it: the module that has it as `command`, what must exist for it, one line about it."""

    module: str
    about: str
    needs: str | None = None


ENTRIES = {
    "up": Entry("leasehold.cli.up", "Run the whole stack until Ctrl-C."),
    "devnet": Entry("leasehold.cli.devnet", "Run the development chain, or control one.", "leasehold.devnet.service"),
    "index": Entry("leasehold.cli.service", "Follow the chain into PostgreSQL.", "leasehold.indexer.service"),
    "data-api": Entry("leasehold.cli.service", "Serve the data API.", "leasehold.data_api.service"),
    "app-api": Entry(
        "leasehold.cli.service", "Serve the application API and its WebSocket.", "leasehold.app_api.service"
    ),
    "supply-api": Entry("leasehold.cli.service", "Serve the supply API.", "leasehold.supply_api.service"),
    "upstreams": Entry(
        "leasehold.cli.service", "Serve the swap, referral and payments stand-ins.", "leasehold.upstreams.service"
    ),
    "audit": Entry("leasehold.cli.audit", "Compare the index with the chain.", "leasehold.cli.audit"),
    "quarantine": Entry(
        "leasehold.cli.quarantine", "List or replay what could not be decoded.", "leasehold.indexer.service"
    ),
    "admin": Entry("leasehold.cli.admin", "Manage keys of the admin routes.", "leasehold.app_api.service"),
    "gated": Entry(
        "leasehold.cli.gated", "Import and export the configuration of what is shown.", "leasehold.app_api.service"
    ),
    "bench": Entry("leasehold.cli.bench", "Measure this machine.", "leasehold.cli.bench"),
    "config": Entry("leasehold.cli.config", "Show settings and profiles."),
    "completion": Entry("leasehold.cli.completion", "Print a shell completion script."),
}


def exists(module: str) -> bool:
    """Whether a module is there, without running it."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
