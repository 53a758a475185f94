"""authz: one account acts for another, as far as it was allowed to."""

from leasehold.devnet.modules.authz.module import Authz

__all__ = ["Authz"]
