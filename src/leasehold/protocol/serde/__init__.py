"""Strict JSON as the contracts parse it, with their error texts."""

from leasehold.protocol.serde.codec import Codec, Empty, Lax, Nothing, OneOf, SerdeError, Wire, encode

__all__ = ["Codec", "Empty", "Lax", "Nothing", "OneOf", "SerdeError", "Wire", "encode"]
