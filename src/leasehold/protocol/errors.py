"""What the protocol's arithmetic refuses.

ProtocolError
├── ArithmeticTrap      the real contract aborts here: overflow, or an assertion about a percent
├── ComputationOverflow the real contract answers with an error: a 128-bit result does not exist
├── Refused             a rule of the protocol says no; the message is the wire text
└── NoPrice             too few observations inside the window
"""

from __future__ import annotations

from leasehold.core.errors import InvalidInput, LeaseholdError


class ProtocolError(LeaseholdError):
    """Base of what the protocol's rules raise."""

    code = "PROTOCOL_ERROR"


class ArithmeticTrap(ProtocolError):
    """A computation whose real counterpart aborts the virtual machine."""


class ComputationOverflow(ProtocolError):
    """A checked computation that has no result in 128 bits."""


class NoPrice(ProtocolError):
    """No price can be computed from the observations."""


class Refused(ProtocolError, InvalidInput):
    """A rule of the protocol refuses the values; `message` is the text on the wire."""

    status = 400
    code = "VALIDATION_ERROR"
