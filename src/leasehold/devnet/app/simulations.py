"""Dry runs as clients see them: their results, and their failures with the place the original names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.chain.registry import Registry
from leasehold.devnet.app.errors import SimulationError
from leasehold.devnet.app.source_positions import source_position

if TYPE_CHECKING:
    from leasehold.devnet.app.execution import Simulation


def simulated_result(registry: Registry, outcome: Simulation) -> Any:
    """What a dry run gave, as the original shows it: no attribute is indexed."""
    return registry.new(
        "cosmos.base.abci.v1beta1.Result",
        data=outcome.data,
        events=[
            {"type": event.type, "attributes": [{"key": key, "value": value} for key, value in event.attributes]}
            for event in outcome.events
        ],
        msg_responses=[registry.pack(response) for response in outcome.responses],
    )


def failed_simulation(failure: SimulationError) -> str:
    """The text of a failed dry run on every surface but `/app/simulate`."""
    return f"{failure.error.log}{source_position(failure.error)} with gas used: '{failure.gas_used}'"
