"""distribution: fees and minted coins to validators, their delegators and the community."""

from leasehold.devnet.modules.distribution.module import Distribution

__all__ = ["Distribution"]
