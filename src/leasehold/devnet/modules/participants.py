"""Addresses given in messages and queries: accounts, validator operators and consensus keys, with the SDK's texts."""

from __future__ import annotations

from leasehold.core.addresses import Bech32Prefixes
from leasehold.devnet.app.addressing import WrongPrefix, bech32_bytes
from leasehold.devnet.app.errors import INVALID_ADDRESS, LOGIC, PlainError, undefined


class Participants:
    """Reads addresses of one chain."""

    def __init__(self, prefixes: Bech32Prefixes) -> None:
        self._prefixes = prefixes

    def queried_account(self, text: str) -> bytes:
        """An account in a query; PlainError says what is wrong with it."""
        return self._queried(text, self._prefixes.account)

    def queried_operator(self, text: str) -> bytes:
        return self._queried(text, self._prefixes.operator)

    def queried_consensus(self, text: str) -> bytes:
        return self._queried(text, self._prefixes.consensus)

    def account(self, text: str, what: str = "") -> bytes:
        """An account in a message; `what` opens the text of the refusal."""
        return self._given(text, self._prefixes.account, what)

    def unwrapped_account(self, text: str) -> bytes:
        """An account in a message whose handler adds nothing to the refusal, so that it keeps its own kind."""
        try:
            return bech32_bytes(text, self._prefixes.account)
        except WrongPrefix as error:
            raise LOGIC(error.mismatch) from None
        except PlainError as error:
            raise undefined(str(error)) from None

    def operator(self, text: str, what: str = "invalid validator address: ") -> bytes:
        return self._given(text, self._prefixes.operator, what)

    def _given(self, text: str, prefix: str, what: str) -> bytes:
        try:
            return bech32_bytes(text, prefix)
        except PlainError as error:
            raise INVALID_ADDRESS(f"{what}{error}") from None

    def _queried(self, text: str, prefix: str) -> bytes:
        return bech32_bytes(text, prefix)


def lossy_text(data: bytes) -> str:
    """Raw bytes as the real chain prints them: every byte that is not UTF-8 becomes its own replacement mark."""
    text = []
    position = 0
    while position < len(data):
        for size in (1, 2, 3, 4):
            try:
                text.append(data[position : position + size].decode())
            except UnicodeDecodeError:
                continue
            break
        else:
            size = 1
            text.append("\ufffd")
        position += size
    return "".join(text)
