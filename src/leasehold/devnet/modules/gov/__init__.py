"""gov: proposals, deposits, votes and what passed proposals do."""

from leasehold.devnet.modules.gov.module import Gov

__all__ = ["Gov"]
