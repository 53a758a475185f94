"""counterparty: the other chains, simulated."""

from leasehold.devnet.modules.counterparty.module import Counterparty
from leasehold.devnet.modules.counterparty.networks import Arrival, Network, Networks, Packet

__all__ = ["Arrival", "Counterparty", "Network", "Networks", "Packet"]
