"""Who must sign a message, as address bytes."""

from __future__ import annotations

from typing import Any

from leasehold.chain.registry import Registry
from leasehold.core.addresses import Bech32Prefixes
from leasehold.devnet.app.addressing import bech32_bytes

_OPERATOR = "cosmos.ValidatorAddressString"


def signer_addresses(registry: Registry, prefixes: Bech32Prefixes, message: Any) -> list[bytes]:
    """Signers in order, each once; PlainError when a text is no address of the kind its field takes."""
    traits = registry.message_traits(message.DESCRIPTOR)
    prefix = prefixes.account
    for name in traits.signers:
        field = message.DESCRIPTOR.fields_by_name[name]
        if registry.field_traits(field).scalar == _OPERATOR:
            prefix = prefixes.operator
    return list(dict.fromkeys(bech32_bytes(text, prefix) for text in registry.signers(message)))
