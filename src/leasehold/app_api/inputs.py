"""Parameters that several routes take."""

from __future__ import annotations

from typing import Annotated

import msgspec

from leasehold.core import addresses
from leasehold.core.errors import InvalidInput
from leasehold.serving.parameters import Input

WalletOrAlias = Annotated[str, Input(aliases=("owner", "delegator"), about="bech32 address of a wallet")]
OwnerAddress = Annotated[str, Input(aliases=("owner",), about="bech32 address of a wallet")]


class AddressParams(msgspec.Struct, frozen=True):
    """A wallet, under any of its names."""

    address: WalletOrAlias


def require_bech32(text: str, field: str = "address") -> str:
    """The address in lower case if the text is a bech32 one of any chain."""
    if not text:
        raise InvalidInput(f"{field} is required", field=field)
    try:
        addresses.decode(text)
    except addresses.InvalidAddress:
        raise InvalidInput(f"Invalid {field} format", field=field) from None
    return text.lower()


def is_of(address: str, prefix: str) -> bool:
    """Whether a valid address is one of the chain with this prefix; an account of another owns nothing here."""
    return addresses.decode(address)[0] == prefix


def is_address(text: str, prefix: str) -> bool:
    """Whether a text is an address of the chain with this prefix at all."""
    try:
        return is_of(text, prefix)
    except addresses.InvalidAddress:
        return False


def require_own(text: str, prefix: str, brand: str, field: str = "address") -> str:
    """The text if it is a lower-case bech32 address of our chain."""
    try:
        found, _ = addresses.decode(text)
    except addresses.InvalidAddress:
        found = ""
    if found != prefix or text != text.lower():
        raise InvalidInput(f"Invalid {brand} address format", field=field)
    return text
