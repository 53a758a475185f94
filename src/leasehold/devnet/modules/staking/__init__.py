"""staking: validators, delegations, and the set that signs blocks."""

from leasehold.devnet.modules.staking.module import Staking

__all__ = ["Staking"]
