"""Saying who sends a push message: VAPID (RFC 8292), a short-lived token signed with this deployment's key."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from leasehold.core.errors import ConfigurationError, InvalidInput
from leasehold.data_api.push.sealing import from_base64, unpadded

# Push services refuse more than a day; half of that survives clocks that differ.
LIFETIME_SECONDS = 12 * 3600
_HEADER = unpadded(b'{"typ":"JWT","alg":"ES256"}')


@dataclass(frozen=True, slots=True)
class Vapid:
    """The key of a deployment and whom to write to about it."""

    private: ec.EllipticCurvePrivateKey
    subject: str

    @classmethod
    def read(cls, text: str, subject: str) -> Vapid:
        """A key from PEM or from the base64url of its 32 bytes."""
        try:
            if text.lstrip().startswith("-----BEGIN"):
                key = load_pem_private_key(text.encode(), password=None)
                if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
                    raise ValueError("not a P-256 key")
                return cls(key, subject)
            number = int.from_bytes(from_base64(text.strip(), field="key"), "big")
            return cls(ec.derive_private_key(number, ec.SECP256R1()), subject)
        except (ValueError, TypeError, InvalidInput) as error:
            raise ConfigurationError(
                f"data_api.vapid_private_key can't be used: {error}", hint="a P-256 key as PEM or base64url"
            ) from None

    @property
    def text(self) -> str:
        """The private key as base64url."""
        return unpadded(self.private.private_numbers().private_value.to_bytes(32, "big"))

    @property
    def public(self) -> str:
        """The public key as browsers want it in `applicationServerKey`."""
        return unpadded(self.private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))

    def authorization(self, endpoint: str, now_seconds: int) -> str:
        """Value of the Authorization header for a push service."""
        parts = urlsplit(endpoint)
        claims = {"aud": f"{parts.scheme}://{parts.netloc}", "exp": now_seconds + LIFETIME_SECONDS, "sub": self.subject}
        signed = f"{_HEADER}.{unpadded(msgspec.json.encode(claims))}"
        r, s = decode_dss_signature(self.private.sign(signed.encode(), ec.ECDSA(SHA256())))
        token = f"{signed}.{unpadded(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"
        return f"vapid t={token}, k={self.public}"


def fresh(subject: str) -> Vapid:
    """A new key."""
    return Vapid(ec.generate_private_key(ec.SECP256R1()), subject)
