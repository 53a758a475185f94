"""Whatever a message or a query carries, the answer is a proper refusal or a success, never a crash."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.unit.devnet.modules.unsigned_chain import DENOM, UnsignedChain

from leasehold.core.addresses import module_address
from leasehold.devnet.app.errors import ChainError, PlainError, StatusError
from leasehold.devnet.app.panics import Panic
from leasehold.devnet.app.scalars import NotANumber, ScalarCheck

MILLION = 1_000_000
_NUMBERS = ("", "0", "1", "-1", "1000", "500000000000000000", "1000000000000000000", "9" * 60)
_INTEGERS = (0, 1, 2, 3, 7, 100, 2**31 - 1)
_DEPTH = 4


class MessageMaker:
    """Random messages of any type, made of things the chain knows and things it does not."""

    def __init__(self, chain: UnsignedChain, seed: int) -> None:
        self._chain = chain
        self._random = random.Random(seed)
        names = ("one", "two", "ann", "bob", "nobody")
        self._texts = [chain.account(name) for name in names] + [chain.operator(name) for name in names]
        self._texts += [chain.prefixes.account_text(module_address("gov")), DENOM, "ibc/AB", "", " ", "x", "\u2603" * 9]
        self._texts += ["transfer", "channel-0", "connection-0", "/cosmos.bank.v1beta1.MsgSend", "0.5", "1", "deposit"]
        self._packed = [
            "cosmos.bank.v1beta1.MsgSend",
            "cosmos.staking.v1beta1.MsgDelegate",
            "cosmos.gov.v1beta1.TextProposal",
            "cosmos.gov.v1.MsgExecLegacyContent",
            "cosmos.params.v1beta1.ParameterChangeProposal",
            "cosmos.authz.v1beta1.GenericAuthorization",
            "cosmos.bank.v1beta1.SendAuthorization",
            "cosmos.staking.v1beta1.StakeAuthorization",
            "cosmos.feegrant.v1beta1.BasicAllowance",
            "cosmos.feegrant.v1beta1.PeriodicAllowance",
            "cosmos.feegrant.v1beta1.AllowedMsgAllowance",
            "cosmos.crypto.ed25519.PubKey",
            "cosmos.staking.v1beta1.MsgUpdateParams",
        ]

    def make(self, name: str, depth: int = 0) -> Any:
        message = self._chain.registry.new(name)
        for field in message.DESCRIPTOR.fields:
            if self._random.random() < 0.15 or (depth > _DEPTH and field.type == field.TYPE_MESSAGE):
                continue
            if field.is_repeated:
                if field.type == field.TYPE_MESSAGE and field.message_type.GetOptions().map_entry:
                    continue
                getattr(message, field.name).extend(
                    self._value(field, depth) for _ in range(self._random.choice((0, 1, 1, 2)))
                )
            elif field.type == field.TYPE_MESSAGE:
                getattr(message, field.name).CopyFrom(self._value(field, depth))
            else:
                setattr(message, field.name, self._value(field, depth))
        return message

    def _value(self, field: Any, depth: int) -> Any:
        if field.type == field.TYPE_MESSAGE:
            if field.message_type.full_name == "google.protobuf.Any":
                return self._any(depth)
            return self.make(field.message_type.full_name, depth + 1)
        if field.type in (field.TYPE_STRING, field.TYPE_BYTES):
            numeric = self._chain.registry.field_traits(field).customtype in ("Int", "LegacyDec")
            text: str = self._random.choice(_NUMBERS if numeric else self._texts)
            return text.encode() if field.type == field.TYPE_BYTES else text
        if field.type == field.TYPE_BOOL:
            return self._random.random() < 0.5
        if field.type == field.TYPE_ENUM:
            return self._random.choice((0, 1, 2, 3, 4, 9))
        return self._random.choice(_INTEGERS)

    def _any(self, depth: int) -> Any:
        if depth > _DEPTH or self._random.random() < 0.2:
            return self._chain.registry.new("google.protobuf.Any")
        return self._chain.registry.pack(self.make(self._random.choice(self._packed), depth + 1))


@pytest.fixture
def chain() -> UnsignedChain:
    chain = UnsignedChain("one", "two", "ann", "bob")
    chain.seal(chain.create_validator("one", 50 * MILLION), chain.create_validator("two", 20 * MILLION))
    chain.seal(chain.stake("MsgDelegate", "ann", "one", 5 * MILLION))
    chain.seal(chain.stake("MsgUndelegate", "ann", "one", MILLION))
    return chain


def test_messages_are_taken_or_refused(chain: UnsignedChain, seed: int) -> None:
    """Random messages of every type never raise anything but the chain's own errors, and blocks go on."""
    maker = MessageMaker(chain, seed)
    scalars = ScalarCheck(chain.registry)
    taken = 0
    for turn in range(25):
        for name in sorted(chain.message_names()):
            message = maker.make(name)
            if "params" in message.DESCRIPTOR.fields_by_name and turn:
                continue
            try:
                scalars.check(message)
            except NotANumber:
                continue
            taken += chain.run(message).error is None
        chain.seal(seconds=30)
    assert taken


def test_queries_are_answered_or_refused(chain: UnsignedChain, seed: int) -> None:
    """Random requests to every query end in an answer or a proper error."""
    maker = MessageMaker(chain, seed)
    answered = 0
    for _ in range(15):
        for path in sorted(chain.queries):
            method = chain.registry.method_by_path["/" + path]
            request = maker.make(method.request_type.DESCRIPTOR.full_name)
            try:
                chain.answer(path, request)
            except (ChainError, StatusError, PlainError, Panic):
                continue
            answered += 1
    assert answered
