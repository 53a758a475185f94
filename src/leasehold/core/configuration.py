"""Loading settings: profile, then environment, then flags; each value remembers where it came from."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Any, get_type_hints

from leasehold.core.errors import ConfigurationError
from leasehold.core.logging import MASK
from leasehold.core.settings import Settings

ENVIRONMENT_PREFIX = "LEASEHOLD_"
# Variables of this prefix that are not settings but parameters of tools and tests.
NOT_SETTINGS = frozenset(
    {"LEASEHOLD_PROFILE", "LEASEHOLD_HOME", "LEASEHOLD_GOLDEN", "LEASEHOLD_GOLDEN_REPORT", "LEASEHOLD_SEED"}
)


@dataclass(frozen=True, slots=True)
class Known:
    """One setting as declared."""

    key: str
    section: str
    name: str
    kind: Any
    default: Any
    about: str
    secret: bool

    @property
    def variable(self) -> str:
        return ENVIRONMENT_PREFIX + self.key.replace(".", "_").upper()


@dataclass(frozen=True, slots=True)
class Loaded:
    """Frozen settings with the origin of every value."""

    settings: Settings
    origins: Mapping[str, str]

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Key, shown value (secrets masked), origin and meaning of every setting."""
        for known in declared().values():
            value = getattr(getattr(self.settings, known.section), known.name)
            shown = MASK if known.secret and value else _shown(value)
            yield known.key, shown, self.origins[known.key], known.about


def declared() -> dict[str, Known]:
    """Every setting there is, by key, in declaration order."""
    result = {}
    for section, section_type in get_type_hints(Settings).items():
        kinds = get_type_hints(section_type)
        for item in fields(section_type):
            key = f"{section}.{item.name}"
            result[key] = Known(
                key,
                section,
                item.name,
                kinds[item.name],
                item.default,
                item.metadata["about"],
                item.metadata["secret"],
            )
    return result


def profile_names() -> list[str]:
    """Names of the profiles that come with Leasehold."""
    folder = resources.files("leasehold.core") / "profiles"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load(
    *,
    profile: str = "devnet",
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
) -> Loaded:
    """Settings from a profile (a known name or a TOML file), the environment and flags, later ones winning."""
    known = declared()
    values: dict[str, Any] = {key: item.default for key, item in known.items()}
    origins = dict.fromkeys(known, "default")

    for key, value in _profile(profile).items():
        item = _lookup(known, key, f"profile {profile}")
        values[key], origins[key] = _typed(item, value, f"profile {profile}"), f"profile {profile}"

    by_variable = {item.variable: item for item in known.values()}
    for variable, text in (environment or {}).items():
        if variable == "DATABASE_URL" and "LEASEHOLD_DATABASE_URL" not in (environment or {}):
            values["database.url"], origins["database.url"] = text, variable
            continue
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable in NOT_SETTINGS:
            continue
        if variable not in by_variable:
            raise _unknown(variable, list(by_variable), "environment")
        item = by_variable[variable]
        values[item.key], origins[item.key] = _typed(item, text, variable), variable

    for key, text in (flags or {}).items():
        item = _lookup(known, key, "command line")
        values[key], origins[key] = _typed(item, text, f"flag {key}"), "flag"

    sections = {
        section: section_type(**{f.name: values[f"{section}.{f.name}"] for f in fields(section_type)})
        for section, section_type in get_type_hints(Settings).items()
    }
    return Loaded(Settings(**sections), origins)


def _profile(profile: str) -> dict[str, Any]:
    if profile.endswith(".toml") or "/" in profile:
        path = Path(profile)
        if not path.is_file():
            raise ConfigurationError(
                f"profile file {profile} does not exist", hint="give a TOML file or a profile name"
            )
        text = path.read_text()
    else:
        if profile not in profile_names():
            near = difflib.get_close_matches(profile, profile_names(), n=1, cutoff=0.0)
            raise ConfigurationError(f"unknown profile {profile!r}; did you mean {near[0]!r}?")
        text = (resources.files("leasehold.core") / "profiles" / f"{profile}.toml").read_text()
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"profile {profile} is not valid TOML: {error}") from error
    base = document.pop("extends", None)
    result = _profile(base) if base else {}
    for section, members in document.items():
        if not isinstance(members, dict):
            raise ConfigurationError(f"profile {profile}: {section!r} must stand under a [section]")
        result |= {f"{section}.{name}": value for name, value in members.items()}
    return result


def _lookup(known: Mapping[str, Known], key: str, origin: str) -> Known:
    if key not in known:
        raise _unknown(key, list(known), origin)
    return known[key]


def _unknown(name: str, candidates: list[str], origin: str) -> ConfigurationError:
    near = difflib.get_close_matches(name, candidates, n=1, cutoff=0.0)
    return ConfigurationError(f"unknown setting {name!r} ({origin}); did you mean {near[0]!r}?")


def _typed(item: Known, value: Any, origin: str) -> Any:
    """The value as its declared type, from TOML (typed) or text."""
    try:
        if item.kind is bool:
            return _boolean(value)
        if item.kind is int and not isinstance(value, bool):
            return int(value)
        if item.kind is float and not isinstance(value, bool):
            return float(value)
        if item.kind is str and isinstance(value, str):
            return value
        if item.kind == tuple[str, ...]:
            parts = value.split(",") if isinstance(value, str) else value
            return tuple(part.strip() for part in parts if part.strip())
    except (TypeError, ValueError, AttributeError):
        pass
    kind = "comma-separated list" if item.kind == tuple[str, ...] else item.kind.__name__
    shown = MASK if item.secret else repr(value)
    raise ConfigurationError(f"setting {item.key} ({origin}) must be a {kind}, got {shown}")


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() in {"true", "yes", "on", "1"}:
        return True
    if str(value).lower() in {"false", "no", "off", "0"}:
        return False
    raise ValueError(value)


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
