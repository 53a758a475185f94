"""A contract written in Python: decodes messages strictly, finds the handler, and turns refusals into contract errors.

A subclass names the wire types of its messages; the variant `feed_prices` of an execute message goes to the method
`execute_feed_prices`, and likewise for `sudo_` and `query_`. A handler gets a `Case` and the variant's content.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, TypeVar

import msgspec

from leasehold.devnet.wasm.contract import (
    ContractError,
    ContractTrap,
    Deps,
    Env,
    Info,
    Querier,
    Reply,
    Response,
    Storage,
)
from leasehold.protocol.errors import ArithmeticTrap, ProtocolError
from leasehold.protocol.messages.values import Code, SoftwareRelease, Version
from leasehold.protocol.serde import Codec, OneOf, SerdeError, Wire, encode

NO_INFO = Info("")
T = TypeVar("T")
# Short messages come again and again, and what they decode to can't change: it is remembered.
_SHORT = 200
_KEPT = 2000


class Case(NamedTuple):
    """What a handler works with; sudo, reply, migrate and query have nobody in `info`."""

    storage: Storage
    querier: Querier
    env: Env
    info: Info

    @property
    def now(self) -> int:
        """Nanoseconds of the block's time."""
        return self.env.time_ns


class NoVariants(OneOf, frozen=True):
    """A message nobody can send."""


class Native:
    """Base of the protocol's contracts; `tag` opens their error texts."""

    tag: ClassVar[str]
    instantiate_type: ClassVar[type[Wire]]
    execute_type: ClassVar[type[OneOf]] = NoVariants
    sudo_type: ClassVar[type[OneOf]] = NoVariants
    query_type: ClassVar[type[OneOf]] = NoVariants

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self._known: dict[tuple[type[OneOf], bytes], tuple[str, Any]] = {}

    # -- the interface of a contract -----------------------------------------------------------------------------

    def instantiate(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response:
        case = Case(deps.storage, deps.querier, env, info)
        return self._guarded(lambda: self.on_instantiate(case, self.codec.decode(self.instantiate_type, msg)))

    def execute(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response:
        case = Case(deps.storage, deps.querier, env, info)
        response: Response = self._guarded(lambda: self._handled("execute_", self.execute_type, case, msg))
        return response

    def sudo(self, deps: Deps, env: Env, msg: bytes) -> Response:
        case = Case(deps.storage, deps.querier, env, NO_INFO)
        response: Response = self._guarded(lambda: self._handled("sudo_", self.sudo_type, case, msg))
        return response

    def query(self, deps: Deps, env: Env, msg: bytes) -> bytes:
        case = Case(deps.storage, deps.querier, env, NO_INFO)
        answer = self._guarded(lambda: self._handled("query_", self.query_type, case, msg))
        return answer if isinstance(answer, bytes) else encode(answer)

    def reply(self, deps: Deps, env: Env, reply: Reply) -> Response:
        case = Case(deps.storage, deps.querier, env, NO_INFO)
        return self._guarded(lambda: self.on_reply(case, reply))

    def migrate(self, deps: Deps, env: Env, msg: bytes) -> Response:
        case = Case(deps.storage, deps.querier, env, NO_INFO)
        return self._guarded(lambda: self.on_migrate(case, msg))

    # -- what a contract fills in --------------------------------------------------------------------------------

    def on_instantiate(self, case: Case, msg: Any) -> Response:
        return Response()

    def on_reply(self, case: Case, reply: Reply) -> Response:
        raise ContractError(f"{self.tag} Unexpected reply")

    def on_migrate(self, case: Case, msg: bytes) -> Response:
        return Response()

    def refused(self, error: ProtocolError) -> ContractError:
        """How a refusal of the protocol's rules reads when this contract passes it on."""
        return ContractError(f"{self.tag} {error.message}")

    # -- the machine ---------------------------------------------------------------------------------------------

    def _handled(self, prefix: str, kind: type[OneOf], case: Case, msg: bytes) -> Any:
        key = (kind, msg)
        known = self._known.get(key)
        if known is None:
            known = self.codec.decode(kind, msg).chosen
            if len(msg) <= _SHORT:
                if len(self._known) >= _KEPT:
                    self._known.clear()
                self._known[key] = known
        name, content = known
        return getattr(self, prefix + name)(case, content)

    def _guarded(self, entry: Callable[[], T]) -> T:
        try:
            return entry()
        except SerdeError as error:
            raise ContractError(error.message) from error
        except msgspec.ValidationError as error:
            raise ContractError(f"kind: Serialization, error: {error}") from error
        except ArithmeticTrap as error:
            raise ContractTrap(error.message) from error
        except ArithmeticError as error:  # a division by zero aborts the real machine too
            raise ContractTrap(str(error)) from error
        except ProtocolError as error:
            raise self.refused(error) from error


def software_release(release: str, name: str, version: str, storage: int) -> SoftwareRelease:
    """What a contract says of its own package."""
    major, minor, patch = (int(part) for part in version.split("."))
    return SoftwareRelease(release, Code(name, Version(major, minor, patch), storage))
