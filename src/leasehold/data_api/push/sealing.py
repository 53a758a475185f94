"""Sealing a push message for one browser: aes128gcm (RFC 8188) with keys agreed as RFC 8291 says."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from leasehold.core.errors import InvalidInput

RECORD_SIZE = 4096
# What a push service must accept, less the header, the tag and the delimiter.
MAX_PLAINTEXT = 3993
_POINT = 65
_UNCOMPRESSED = 4
_SECRET = 16
_LAST_RECORD = b"\x02"


def unpadded(data: bytes) -> str:
    """base64url without padding."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64(text: str, *, field: str) -> bytes:
    """Bytes of base64url with or without padding; InvalidInput names the field."""
    try:
        return urlsafe_b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))
    except (binascii.Error, ValueError):
        raise InvalidInput(f"{field} is not base64url", field=field) from None


@dataclass(frozen=True, slots=True)
class BrowserKeys:
    """What a browser gave: its public key on P-256 and its authentication secret."""

    public: bytes
    secret: bytes

    @classmethod
    def of(cls, p256dh: str, auth: str) -> BrowserKeys:
        """Keys of a subscription; InvalidInput unless they have the form of a point and sixteen bytes."""
        public, secret = from_base64(p256dh, field="p256dh"), from_base64(auth, field="auth")
        if len(secret) != _SECRET:
            raise InvalidInput(f"auth has {len(secret)} bytes, expected {_SECRET}", field="auth")
        if len(public) != _POINT or public[0] != _UNCOMPRESSED:
            raise InvalidInput("p256dh is no uncompressed point of P-256", field="p256dh")
        return cls(public, secret)


def seal(plaintext: bytes, browser: BrowserKeys, *, private: ec.EllipticCurvePrivateKey, salt: bytes) -> bytes:
    """The body of a push request; `private` and `salt` are fresh for every message.

    InvalidInput when the browser's key is no point of the curve.
    """
    if len(plaintext) > MAX_PLAINTEXT:
        raise ValueError(f"a push message has at most {MAX_PLAINTEXT} bytes")
    try:
        peer = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), browser.public)
    except ValueError:
        raise InvalidInput("p256dh is no point of P-256", field="p256dh") from None
    own = private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    info = b"WebPush: info\x00" + browser.public + own
    agreed = _derive(private.exchange(ec.ECDH(), peer), browser.secret, info, 32)
    key = _derive(agreed, salt, b"Content-Encoding: aes128gcm\x00", 16)
    nonce = _derive(agreed, salt, b"Content-Encoding: nonce\x00", 12)
    header = salt + RECORD_SIZE.to_bytes(4, "big") + len(own).to_bytes(1, "big") + own
    return header + AESGCM(key).encrypt(nonce, plaintext + _LAST_RECORD, None)


def _derive(material: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt, info).derive(material)
