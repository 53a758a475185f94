"""Every setting is documented, typed and harmless by default."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from leasehold.core import configuration
from leasehold.core.settings import Listen, Settings

KNOWN = configuration.declared()


@pytest.mark.parametrize("key", KNOWN)
def test_a_setting_is_documented_and_of_a_known_type(key: str) -> None:
    """Each has a sentence and one of the types the loader can read."""
    known = KNOWN[key]
    assert len(known.about) > 3
    assert known.kind in (bool, int, float, str, tuple[str, ...])
    assert isinstance(known.default, tuple if known.kind == tuple[str, ...] else known.kind)
    assert re.fullmatch(r"LEASEHOLD_[A-Z0-9_]+", known.variable)


def test_variables_are_unique() -> None:
    """No two settings share an environment variable, nor one with a tool's."""
    variables = [known.variable for known in KNOWN.values()]
    assert len(set(variables)) == len(variables)
    assert not configuration.NOT_SETTINGS & set(variables)


def test_secrets_are_declared_secret() -> None:
    """Whatever its name calls a key, token, secret or URL with a password is marked."""
    suspicious = re.compile(r"(secret|token|api_key|admin_keys|private_key|^database\..*url)")
    assert [key for key, known in KNOWN.items() if suspicious.search(key) and not known.secret] == []


def test_nothing_listens_beyond_loopback_by_default() -> None:
    """No profile opens a port to the network."""
    for name in configuration.profile_names():
        assert configuration.load(profile=name).settings.listen.host == "127.0.0.1"


def test_the_offset_moves_every_port() -> None:
    """Ports and URLs of the stack follow the offset."""
    settings = replace(Settings(), listen=Listen(port_offset=100))
    assert settings.port("rpc") == 26757
    assert settings.url("data_api") == "http://127.0.0.1:8181"
