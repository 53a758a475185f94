"""Admin keys: kept only as scrypt hashes, several at once, so that one can be replaced while the other works."""

from __future__ import annotations

import hmac
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import scrypt, sha256

from leasehold.core.errors import ConfigurationError

_COST, _BLOCK, _PARALLEL = 2**14, 8, 1
_MEMORY = 64 * 1024 * 1024
_LENGTH = 32
_REMEMBERED = 64
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True)
class KeyHash:
    """A key's name, and what is kept of it: `name:scrypt:cost:salt:hash`."""

    name: str
    cost: int
    salt: bytes
    digest: bytes

    @classmethod
    def parse(cls, entry: str) -> KeyHash:
        """An entry of the setting; the message about a wrong one does not repeat it."""
        try:
            name, scheme, cost, salt, digest = entry.split(":")
            found = cls(name, int(cost), _bytes(salt), _bytes(digest))
        except ValueError:
            found = None
        if found is None or scheme != "scrypt" or not name or len(found.digest) != _LENGTH or len(found.salt) < 8:
            raise ConfigurationError(
                "setting app_api.admin_keys has an entry that is no hashed key",
                hint="make one with `leasehold admin key hash NAME`",
            )
        if found.cost < 2 or found.cost & (found.cost - 1) or found.cost > 2**16:
            raise ConfigurationError("setting app_api.admin_keys has an entry whose cost is no power of 2 up to 65536")
        return found

    def text(self) -> str:
        return f"{self.name}:scrypt:{self.cost}:{_text(self.salt)}:{_text(self.digest)}"

    def fits(self, key: str) -> bool:
        """Whether this is the hash of a key; takes the same time either way."""
        made = _digest(key, self.salt, self.cost)
        return hmac.compare_digest(made, self.digest)


def hashed(name: str, key: str, *, salt: bytes | None = None, cost: int = _COST) -> KeyHash:
    """The hash of a key under a fresh salt."""
    checked_name(name)
    salted = secrets.token_bytes(16) if salt is None else salt
    return KeyHash(name, cost, salted, _digest(key, salted, cost))


def checked_name(name: str) -> str:
    """The name if it can be one: it stands in settings, in logs and in the audit log."""
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            "a key's name has up to 64 letters, digits, dots, underscores and hyphens", hint="such as alice-laptop"
        )
    return name


class Keyring:
    """The keys that open the admin routes."""

    def __init__(self, entries: Iterable[str]) -> None:
        self._keys = tuple(KeyHash.parse(entry) for entry in entries)
        # A key that was right once is recognised without the costly hash; the memory holds no key, only its
        # fingerprint under a secret of this process.
        self._secret = secrets.token_bytes(32)
        self._known: dict[bytes, str] = {}

    def __bool__(self) -> bool:
        return bool(self._keys)

    def remembered(self, key: str) -> str | None:
        """Name of a key that was right before."""
        return self._known.get(self._fingerprint(key))

    def name_of(self, key: str) -> str | None:
        """Name of a key, None for a wrong one; every hash is computed, so time says nothing about which fits."""
        found = [held.name for held in self._keys if held.fits(key)]
        if not found:
            return None
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[self._fingerprint(key)] = found[0]
        return found[0]

    def _fingerprint(self, key: str) -> bytes:
        return hmac.new(self._secret, key.encode("utf-8", "surrogatepass"), sha256).digest()


def _digest(key: str, salt: bytes, cost: int) -> bytes:
    data = key.encode("utf-8", "surrogatepass")
    return scrypt(data, salt=salt, n=cost, r=_BLOCK, p=_PARALLEL, maxmem=_MEMORY * 2, dklen=_LENGTH)


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
