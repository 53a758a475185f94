"""feegrant: one account pays another's fees, as far as it was allowed to."""

from leasehold.devnet.modules.feegrant.module import Feegrant

__all__ = ["Feegrant"]
