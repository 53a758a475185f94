"""The strict parser: what it takes, and in which words it refuses."""

from __future__ import annotations

import re

import msgspec
import pytest

from leasehold.protocol.currencies import LEASE, LPN, NATIVE, Currency, CurrencySet
from leasehold.protocol.messages import admin, lease, leaser, lpp, oracle, reserve, timealarms, treasury
from leasehold.protocol.scalars import Amount
from leasehold.protocol.serde import Codec, SerdeError, encode

CURRENCIES = CurrencySet(
    [
        Currency("USDC", "ibc/usdc", "usdc", 6, LPN),
        Currency("NLS", "unls", "ibc/nls", 6, NATIVE),
        Currency("BTC", "ibc/btc", "btc", 8, LEASE),
    ],
    [("BTC", "USDC"), ("NLS", "USDC")],
    "USDC",
)
CODEC = Codec(CURRENCIES)


def _refusal(kind: type, text: str) -> str:
    with pytest.raises(SerdeError) as raised:
        CODEC.decode(kind, text.encode())
    return re.sub(r"^kind: Serialization, error: | at line 1 column \d+$", "", raised.value.message)


@pytest.mark.parametrize(
    ("kind", "text", "refusal"),
    [
        (lease.Execute, '{"repay":{}}', "invalid type: map, expected tuple variant ExecuteMsg::Repay"),
        (lease.Execute, '{"repay":null}', "invalid type: null, expected tuple variant ExecuteMsg::Repay"),
        (lease.Execute, '"repay"', "invalid type: unit variant, expected tuple variant"),
        (lease.Execute, '{"repay":[],"heal":[]}', "expected value"),
        (lease.Execute, '{"close_position":{}}', "expected value"),
        (lease.Execute, "", "EOF while parsing a value"),
        (lease.Execute, '{"repay":[]}x', "trailing characters"),
        (lease.Execute, '{"repay":[],"repay":[]}', "expected value"),
        (
            lpp.Execute,
            '{"burn":{"amount":{"amount":"5"},"amount":{"amount":"6"}}}',
            "duplicate field `amount`",
        ),
        (lease.Query, "{}", "expected value"),
        (lease.Query, '{"state":{"due_projection_secs":null}}', "invalid type: null, expected u32"),
        (lease.Query, '{"state":{"x":1}}', "unknown field `x`, expected `due_projection_secs`"),
        (lease.Query, '{"state":{"due_projection_secs":1.5}}', "invalid type: floating point `1.5`, expected u32"),
        (timealarms.Execute, '{"x":{}}', "unknown variant `x`, expected `add_alarm` or `dispatch_alarms`"),
        (timealarms.Sudo, '{"x":{}}', "unknown variant `x`, there are no variants"),
        (timealarms.Execute, '{"dispatch_alarms":{}}', "missing field `max_count`"),
        (
            timealarms.Execute,
            '{"add_alarm":{"time":"x"}}',
            "invalid Uint64 'x' - invalid digit found in string",
        ),
        (
            timealarms.Execute,
            '{"add_alarm":{"time":5}}',
            "invalid type: integer `5`, expected string-encoded integer",
        ),
        (lpp.Execute, '{"burn":{"amount":"5"}}', 'invalid type: string "5", expected struct Coin'),
        (lpp.Execute, '{"burn":{"amount":{"amount":"-5"}}}', 'invalid value: string "-5", expected "<u128>"'),
        (
            lpp.Execute,
            '{"claim_rewards":[]}',
            "invalid length 0, expected struct variant ExecuteMsg::ClaimRewards with 1 element",
        ),
        (
            leaser.Execute,
            '{"open_lease":{"currency":"NLS"}}',
            "[Currency] Found a symbol 'NLS' pretending to be ticker of a currency pertaining to the lease group",
        ),
        (
            lpp.Sudo,
            '{"min_utilization":{"min_utilization":1001}}',
            "[Finance] [Percent] Upper bound has been crossed! Upper bound is: 1000, but got: 1001‰!",
        ),
        (reserve.Execute, '{"new_lease_code":"7"}', 'invalid type: string "7", expected u64'),
        (
            oracle.Execute,
            '{"feed_prices":{"prices":[{"amount":{"amount":"1","ticker":"BTC"},'
            '"amount_quote":{"amount":"1","ticker":"NLS"}}]}}',
            "[Finance] [Currency] No records for a pool with 'BTC' and 'NLS'",
        ),
        (
            admin.Execute,
            '{"register_protocol":{"name":"A","protocol":{"network":"Mars"}}}',
            "unknown variant `Mars`, expected `Neutron` or `Osmosis`",
        ),
        (
            treasury.Sudo,
            '{"rewards":{"tvl_to_apr":{"bars":[]}}}',
            "kind: Other, error: Argument vector contains no bars!",
        ),
    ],
)
def test_refusals(kind: type, text: str, refusal: str) -> None:
    """Malformed and out-of-group input fails while parsing, in the contracts' words."""
    assert _refusal(kind, text) == refusal


def test_columns_point_behind_the_token() -> None:
    """The place is where reading stopped."""
    with pytest.raises(SerdeError, match=r"at line 1 column 9$"):
        CODEC.decode(lease.Execute, b'{"nosuch":[]}')


def test_a_refused_newtype_has_no_place() -> None:
    """A rule broken by the whole content of a variant is not inside any container."""
    raw = b'{"update_config":{"min_feeders":0,"sample_period_secs":1,"samples_number":1,"discount_factor":1}}'
    with pytest.raises(SerdeError, match=r"less or equal to 100%$"):
        CODEC.decode(oracle.Sudo, raw)


@pytest.mark.parametrize(
    ("kind", "text", "canonical"),
    [
        (lease.Query, '{"state":[]}', '{"state":{"due_projection_secs":0}}'),
        (lease.Execute, '{ "time_alarm" : [] }', '{"time_alarm":{}}'),
        (lpp.Execute, '{"burn":{"amount":{"amount":"+007"}}}', '{"burn":{"amount":{"amount":"7"}}}'),
        (
            lease.Execute,
            '{"change_close_policy":{"stop_loss":"reset","take_profit":{"set":5}}}',
            '{"change_close_policy":{"stop_loss":"reset","take_profit":{"set":5}}}',
        ),
        (leaser.Execute, '{"open_lease":["BTC",null]}', '{"open_lease":{"currency":"BTC","max_ltd":null}}'),
        (oracle.Query, '{"swap_path":{"from":"BTC","to":"NLS"}}', '{"swap_path":{"from":"BTC","to":"NLS"}}'),
    ],
)
def test_odd_spellings_are_taken(kind: type, text: str, canonical: str) -> None:
    """What the contracts accept reads as the canonical message, quickly or not."""
    value: object = CODEC.decode(kind, text.encode())
    assert encode(value) == canonical.encode()
    assert CODEC.parse(kind, canonical.encode()) == value


def test_without_currencies_any_ticker_passes() -> None:
    """A reader of a chain need not know its currencies."""
    assert Codec().decode(leaser.Execute, b'{"open_lease":{"currency":"ANY"}}').chosen[0] == "open_lease"


def test_answers_hold_amounts_of_39_digits() -> None:
    """A price leg just below 128 bits is read where answers are read leniently."""
    assert msgspec.json.decode(b'"220282366920938463463374607431768211455"', type=Amount)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'"540282366920938463463374607431768211455"', type=Amount)
