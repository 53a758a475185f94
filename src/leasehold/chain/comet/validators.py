"""Validator sets: order, hash, updates and the rotation that picks proposers, step by step as CometBFT does it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from leasehold.chain.comet import merkle
from leasehold.chain.comet.wire import blob, integer, message

INT64_MAX = (1 << 63) - 1
MAX_TOTAL_POWER = INT64_MAX // 8
PRIORITY_WINDOW = 2


def address_of(public_key: bytes) -> bytes:
    """Address of an ed25519 consensus key."""
    return sha256(public_key).digest()[:20]


@dataclass(slots=True)
class Validator:
    """A member of a set; `priority` rises with its power until it proposes."""

    address: bytes
    public_key: bytes
    power: int
    priority: int = 0

    @classmethod
    def of(cls, public_key: bytes, power: int) -> Validator:
        return cls(address_of(public_key), public_key, power)

    def copy(self) -> Validator:
        return Validator(self.address, self.public_key, self.power, self.priority)

    def leaf(self) -> bytes:
        """Encoding that the set's hash covers: key and power only."""
        return message(1, blob(1, self.public_key)) + integer(2, self.power)


class InvalidUpdate(ValueError):
    """A change that CometBFT would refuse."""


class ValidatorSet:
    """Validators by power descending, then address; `proposer` is who was picked last."""

    __slots__ = ("_hash", "proposer", "total_power", "validators")

    def __init__(
        self, validators: list[Validator], proposer: Validator | None, *, known_hash: bytes | None = None
    ) -> None:
        self.validators = validators
        self.proposer = proposer
        self.total_power = sum(validator.power for validator in validators)
        self._hash = known_hash

    @classmethod
    def create(cls, members: Iterable[tuple[bytes, int]]) -> ValidatorSet:
        """A genesis set from (public key, power), already rotated once."""
        created = cls([], None)
        changes = list(members)
        if any(power <= 0 for _, power in changes):
            raise InvalidUpdate("a genesis validator needs power")
        created.update(changes)
        if created.validators:
            created.rotate()
        return created

    def copy(self) -> ValidatorSet:
        copied = [validator.copy() for validator in self.validators]
        proposer = None
        if self.proposer is not None:
            proposer = next((v for v in copied if v.address == self.proposer.address), self.proposer)
        return ValidatorSet(copied, proposer, known_hash=self._hash)

    def hash(self) -> bytes:
        if self._hash is None:
            self._hash = merkle.root([validator.leaf() for validator in self.validators])
        return self._hash

    def find(self, address: bytes) -> Validator | None:
        return next((validator for validator in self.validators if validator.address == address), None)

    def index_of(self, address: bytes) -> int:
        """Position in the set, or -1."""
        return next((at for at, validator in enumerate(self.validators) if validator.address == address), -1)

    def rotate(self, times: int = 1) -> Validator:
        """Advance the proposer election by `times` steps and return who is picked."""
        if not self.validators:
            raise InvalidUpdate("empty validator set")
        self._rescale()
        self._centre()
        for _ in range(times):
            self.proposer = self._step()
        assert self.proposer is not None
        return self.proposer

    def rotated(self, times: int = 1) -> ValidatorSet:
        copied = self.copy()
        copied.rotate(times)
        return copied

    def _step(self) -> Validator:
        chosen = None
        for validator in self.validators:
            validator.priority = _clip(validator.priority + validator.power)
            if chosen is None or _outranks(validator, chosen):
                chosen = validator
        assert chosen is not None
        chosen.priority = _clip(chosen.priority - self.total_power)
        return chosen

    def _rescale(self) -> None:
        window = PRIORITY_WINDOW * self.total_power
        if window <= 0:
            return
        priorities = [validator.priority for validator in self.validators]
        spread = max(priorities) - min(priorities)
        if spread > window:
            ratio = (spread + window - 1) // window
            for validator in self.validators:
                # Go's integer division cuts towards zero, Python's towards minus infinity.
                quotient = abs(validator.priority) // ratio
                validator.priority = quotient if validator.priority >= 0 else -quotient

    def _centre(self) -> None:
        total = sum(validator.priority for validator in self.validators)
        # The mean is Euclidean (big.Int.Div): for a positive divisor that is Python's floor.
        mean = total // len(self.validators)
        if mean:
            for validator in self.validators:
                validator.priority = _clip(validator.priority - mean)

    def update(self, changes: Iterable[tuple[bytes, int]]) -> list[Validator]:
        """Apply new powers by public key (zero removes) and return the changes in the order given."""
        listed = [Validator.of(key, power) for key, power in changes]
        if not listed:
            return []
        self._refuse(listed)
        current = {validator.address: validator for validator in self.validators}
        removed = {change.address for change in listed if change.power == 0}
        updated_total = self.total_power + sum(
            change.power - (current[change.address].power if change.address in current else 0)
            for change in listed
            if change.power
        )
        for change in listed:
            if not change.power:
                continue
            known = current.get(change.address)
            entering = -(updated_total + (updated_total >> 3))
            current[change.address] = Validator(
                change.address, change.public_key, change.power, known.priority if known else entering
            )
        self.validators = sorted(
            (validator for address, validator in current.items() if address not in removed),
            key=lambda validator: (-validator.power, validator.address),
        )
        self.total_power = sum(validator.power for validator in self.validators)
        self._hash = None
        self._rescale()
        self._centre()
        return listed

    def _refuse(self, changes: list[Validator]) -> None:
        current = {validator.address: validator.power for validator in self.validators}
        seen: set[bytes] = set()
        entering = leaving = 0
        for change in changes:
            if change.address in seen:
                raise InvalidUpdate(f"duplicate entry {change.address.hex()}")
            seen.add(change.address)
            if change.power < 0:
                raise InvalidUpdate(f"voting power can't be negative: {change.power}")
            if change.power == 0:
                if change.address not in current:
                    raise InvalidUpdate(f"failed to find validator {change.address.hex().upper()} to remove")
                leaving += 1
            elif change.address not in current:
                entering += 1
        if not entering and leaving == len(current):
            raise InvalidUpdate("applying the validator changes would result in empty set")
        total = sum(current.values()) + sum(change.power - current.get(change.address, 0) for change in changes)
        if total > MAX_TOTAL_POWER:
            raise InvalidUpdate(f"total voting power of resulting valset exceeds max {MAX_TOTAL_POWER}")


def _outranks(candidate: Validator, other: Validator) -> bool:
    if candidate.priority != other.priority:
        return candidate.priority > other.priority
    return candidate.address < other.address


def _clip(value: int) -> int:
    return max(-INT64_MAX - 1, min(INT64_MAX, value))
