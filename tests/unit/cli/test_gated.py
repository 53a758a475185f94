"""`leasehold gated`: the configuration leaves a database as files and comes back from them."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from leasehold.app_api.gating.documents import NAMES
from leasehold.app_api.gating.first import first_documents
from leasehold.cli.main import cli
from leasehold.core.configuration import load
from leasehold.core.errors import InvalidInput


def _run(database: str, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["--set", f"database.url={database}", "gated", *arguments])


def _folder(path: Path) -> Path:
    path.mkdir()
    for name, content in first_documents(load().settings).items():
        (path / f"{name}.json").write_text(json.dumps(content))
    return path


def test_files_go_in_and_come_out(database: str, tmp_path: Path) -> None:
    """What is imported can be exported, and a second import of the export changes nothing but the version."""
    given = _folder(tmp_path / "given")
    done = _run(database, "import", str(given))
    assert done.exit_code == 0, done.output
    assert all(name in done.output for name in NAMES)
    assert "version 1" in done.output
    assert _run(database, "export", str(tmp_path / "taken")).exit_code == 0
    for name in NAMES:
        taken = json.loads((tmp_path / "taken" / f"{name}.json").read_text())
        assert taken == json.loads((given / f"{name}.json").read_text())
    assert "version 2" in _run(database, "import", str(tmp_path / "taken")).output


def test_a_wrong_file_is_named_and_changes_nothing(database: str, tmp_path: Path) -> None:
    """The field that is wrong is named, before anything is stored; `check` says the same without a database."""
    given = _folder(tmp_path / "given")
    (given / "ui-settings.json").write_text('{"hidden_proposals": [7]}')
    for done in (_run(database, "import", str(given)), CliRunner().invoke(cli, ["gated", "check", str(given)])):
        assert isinstance(done.exception, InvalidInput)
        assert "ui-settings.hidden_proposals[0]" in str(done.exception)
    assert "no configuration yet" in _run(database, "export", str(tmp_path / "taken")).output
    (given / "ui-settings.json").write_text("{")
    assert "ui-settings" in str(_run(database, "import", str(given)).exception)


def test_a_folder_is_checked(tmp_path: Path, database: str) -> None:
    """`check` counts what is right and says what is missing; an empty folder can't be imported."""
    given = _folder(tmp_path / "given")
    (given / "swap-settings.json").unlink()
    done = CliRunner().invoke(cli, ["gated", "check", str(given)])
    assert done.exit_code == 0
    assert "4 documents" in done.output
    assert "not in this folder: swap-settings" in done.output
    (tmp_path / "empty").mkdir()
    assert _run(database, "import", str(tmp_path / "empty")).exit_code != 0
