"""Annotations of the contracts' JSON scalars: what msgspec checks quickly, and the name the strict parser knows.

Amounts, instants and code ids are decimal text on the wire; percents and durations are numbers.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from leasehold.protocol.percent import MILLE, U16_MAX, U32_MAX

# Up to 3.4e38, nearly all of 128 bits; what is above takes the strict parser.
_DIGITS_128 = "^([0-9]{1,38}|[12][0-9]{38}|3[0-3][0-9]{37})$"
_DIGITS_64 = "^[0-9]{1,19}$"
_I64_MAX = 2**63 - 1  # msgspec bounds end here; larger values take the strict parser

Amount = Annotated[str, Meta(pattern=_DIGITS_128, extra={"scalar": "amount"})]
TextU64 = Annotated[str, Meta(pattern=_DIGITS_64, extra={"scalar": "text_u64"})]
Instant = TextU64
TextCode = TextU64
Address = Annotated[str, Meta(extra={"scalar": "string"})]
U16 = Annotated[int, Meta(ge=0, le=U16_MAX, extra={"scalar": "u16"})]
U32 = Annotated[int, Meta(ge=0, le=U32_MAX, extra={"scalar": "u32"})]
U64 = Annotated[int, Meta(ge=0, le=_I64_MAX, extra={"scalar": "u64"})]
Duration = U64
Percent100 = Annotated[int, Meta(ge=0, le=MILLE, extra={"scalar": "percent100"})]
Percent = U32

LeaseTicker = Annotated[str, Meta(extra={"scalar": "ticker", "group": "lease"})]
PaymentTicker = Annotated[str, Meta(extra={"scalar": "ticker", "group": "payment"})]
LpnTicker = Annotated[str, Meta(extra={"scalar": "ticker", "group": "lpns"})]
