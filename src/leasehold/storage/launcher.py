"""Becoming another program: give up root, die with the parent, then exec.

Run as a script of its own (`python -I -S launcher.py … -- program arguments`), because between fork and exec a
threaded program may do almost nothing, while a fresh process may do anything. Needs only the standard library.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NoReturn

_PR_SET_PDEATHSIG = 1
_PR_SET_KEEPCAPS = 8
_PR_SET_SECUREBITS = 28
# With it, access() sees the capabilities of a user who is not root; PostgreSQL looks for its programs that way.
_NO_SETUID_FIXUP = 1 << 2
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_RAISE = 2
_CAPABILITY_VERSION_3 = 0x20080522
# In order of preference: reading past closed folders is all that is needed; containers often withhold the right to
# that alone but grant the wider one.
_CAP_DAC_READ_SEARCH = 2
_CAP_DAC_OVERRIDE = 1

UNREACHABLE = 77
"""Exit code: the user may not reach a path the program needs, and no capability could help."""


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def main(arguments: list[str]) -> NoReturn:
    """Replace this process by the program after `--`, as the options before it say."""
    split = arguments.index("--")
    parser = argparse.ArgumentParser(prog="launcher")
    parser.add_argument("--user", type=int, help="uid and gid to become; needs root")
    parser.add_argument("--reach", action="append", default=[], help="path that user must be able to read")
    parser.add_argument("--parent", type=int, help="process this one must not outlive")
    parser.add_argument("--farewell", default="SIGKILL", help="signal the program gets when that parent dies")
    options = parser.parse_args(arguments[:split])
    program = arguments[split + 1 :]

    if options.user is not None:
        try:
            _become(options.user, options.reach, program[0])
        except PermissionError as error:
            print(f"user {options.user} can't reach {error.filename}", file=sys.stderr)
            sys.exit(UNREACHABLE)
    if options.parent is not None:
        # After the change of user, because the kernel forgets this on a change of credentials.
        _control(_PR_SET_PDEATHSIG, signal.Signals[options.farewell].value)
        if os.getppid() != options.parent:
            sys.exit(0)
    os.execv(program[0], program)


def _become(user: int, reach: list[str], program: str) -> None:
    """Give up root for `user`, keeping one capability only if the program or a path is closed to that user."""
    closed = _first_closed(user, [*reach, program])
    if closed is None:
        _change_user(user)
        return
    for capability in (_CAP_DAC_READ_SEARCH, _CAP_DAC_OVERRIDE):
        if _in_child(partial(_keep_and_check, user, capability, reach, program)):
            _keep(user, capability)
            return
    raise PermissionError(13, "unreachable", closed)


def _first_closed(user: int, reach: list[str]) -> str | None:
    return next((path for path in reach if not _in_child(partial(_readable_to, user, path))), None)


def _readable_to(user: int, path: str) -> bool:
    _change_user(user)
    return os.access(path, os.R_OK)


def _in_child(check: Callable[[], bool]) -> bool:
    """Whether `check` holds in a throw-away copy of this process, whose credentials it may spoil."""
    child = os.fork()
    if child == 0:
        verdict = 1
        try:
            verdict = 0 if check() else 1
        except OSError:
            verdict = 1
        finally:
            os._exit(verdict)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _change_user(user: int) -> None:
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def _keep(user: int, capability: int) -> None:
    """Change user while keeping one capability across this and the coming exec."""
    # Containers may withhold the right to this; what it is needed for is checked afterwards.
    with suppress(OSError):
        _control(_PR_SET_SECUREBITS, _NO_SETUID_FIXUP)
    _control(_PR_SET_KEEPCAPS, 1)
    _change_user(user)
    bit = 1 << capability
    header = _Header(_CAPABILITY_VERSION_3, 0)
    sets = (_Sets * 2)(_Sets(bit, bit, bit), _Sets(0, 0, 0))
    if _libc().capset(ctypes.byref(header), ctypes.byref(sets)) != 0:
        raise OSError(ctypes.get_errno(), "capset")
    _control(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, capability)


def _keep_and_check(user: int, capability: int, reach: list[str], program: str) -> bool:
    _keep(user, capability)
    # open() rather than access(), which may not see the capability: whoever is to read a path opens it.
    for path in reach:
        os.close(os.open(path, os.O_RDONLY))
    return os.access(program, os.R_OK | os.X_OK)


def _control(option: int, first: int, second: int = 0) -> None:
    if _libc().prctl(option, first, second, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


if __name__ == "__main__":
    main(sys.argv[1:])
