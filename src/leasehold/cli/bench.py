"""`leasehold bench`: the benchmarks of a checkout."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import click

from leasehold.core.errors import ConfigurationError


@click.command(name="bench", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Measure this machine: serving beside nginx, the chain, the indexer, the APIs.

    Needs a checkout, because benchmarks are not part of the installed package.

    \b
    Examples:
      leasehold bench
      leasehold bench serving
    """
    root = Path(__file__).parents[3]
    if not (root / "benchmarks" / "__main__.py").is_file():
        raise ConfigurationError("the benchmarks are not here", hint="run this in a checkout, or use make bench")
    sys.path.insert(0, str(root))
    sys.argv = ["benchmarks", *arguments]
    runpy.run_module("benchmarks", run_name="__main__")
