"""One error tree, each error with a status, a code and a way out."""

from __future__ import annotations

import inspect

import pytest

from leasehold.core import errors
from leasehold.core.errors import LeaseholdError

TREE = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, LeaseholdError)]


@pytest.mark.parametrize("error", TREE, ids=lambda error: error.__name__)
def test_every_error_is_drawn_in_the_docstring(error: type[LeaseholdError]) -> None:
    """The module's docstring is the map of the tree, with each status."""
    assert errors.__doc__ is not None
    line = next(line for line in errors.__doc__.splitlines() if error.__name__ in line.split())
    if error is not LeaseholdError and error.status != 500:
        assert str(error.status) in line
    if error.exit_code != 1:
        assert f"exit code {error.exit_code}" in line


def test_codes_are_distinct() -> None:
    """A client can tell every error apart by its code."""
    codes = [error.code for error in TREE]
    assert len(set(codes)) == len(codes)


def test_exit_codes_are_the_documented_ones() -> None:
    """Wrong settings, a second stack and a missing resource are told apart by scripts."""
    assert errors.ConfigurationError.exit_code == 2
    assert errors.AlreadyRunning.exit_code == 3
    assert errors.Unavailable.exit_code == 4
    assert LeaseholdError.exit_code == errors.NotReady.exit_code == 1


def test_an_error_says_what_to_do() -> None:
    """The hint follows the message in parentheses; `message` alone is what callers see."""
    error = errors.Unavailable("no disk", hint="buy one")
    assert str(error) == "no disk (buy one)"
    assert error.message == "no disk"
    assert str(errors.NotFound("no such thing")) == "no such thing"


def test_errors_carry_what_their_answer_needs() -> None:
    """Field, allowed methods, retry delay and upstream travel with the error."""
    assert errors.InvalidInput("x", field="limit").field == "limit"
    assert errors.MethodNotAllowed("x", allowed=("GET",)).allowed == ("GET",)
    assert errors.RateLimited("x", retry_after=3).retry_after == 3
    assert errors.UpstreamFailure("x", upstream="swap").upstream == "swap"
