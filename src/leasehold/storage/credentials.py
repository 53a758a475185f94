"""Passwords of an embedded server: made at random for one home, readable by its user alone."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Credentials:
    """Passwords of the superuser and of the services' role."""

    owner: str
    role: str


def read(folder: Path) -> Credentials | None:
    """The credentials kept in a folder, if there are any."""
    try:
        document = json.loads(_path(folder).read_text())
    except FileNotFoundError:
        return None
    return Credentials(owner=document["owner"], role=document["role"])


def make(folder: Path) -> Credentials:
    """New credentials, kept in the folder whole or not at all."""
    made = Credentials(owner=secrets.token_hex(24), role=secrets.token_hex(24))
    draft = folder / "credentials.draft"
    write_private(draft, json.dumps({"owner": made.owner, "role": made.role}))
    draft.rename(_path(folder))
    return made


def write_private(path: Path, text: str) -> None:
    """A new file that only this process's user may read."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


def _path(folder: Path) -> Path:
    return folder / "credentials.json"
