"""Files that whygrad leaves: whole, private, never through a link."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from whygrad import private_file


def test_it_is_readable_by_its_owner_only_whatever_was_there(tmp_path: Path) -> None:
    file = tmp_path / "last.json"
    file.write_text("old")
    file.chmod(0o666)
    private_file.replace(file, "new")
    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    link = tmp_path / "last.json"
    link.symlink_to(victim)
    private_file.replace(link, "report")
    assert victim.read_text() == "precious"
    assert not link.is_symlink()
    assert link.read_text() == "report"


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "last.json"
    file.write_text("old")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        private_file.replace(file, "new")
    monkeypatch.undo()
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["last.json"]


def test_an_interrupt_in_the_middle_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "last.json"
    file.write_text("old")

    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        private_file.replace(file, "new")
    monkeypatch.undo()
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["last.json"]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    private_file.replace(pipe, "report")
    reader.join(10)
    assert read == ["report"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_standard_output_is_written_to(tmp_path: Path) -> None:
    code = "from pathlib import Path; from whygrad import private_file; private_file.replace(Path('/dev/stdout'), 'hi')"
    out = tmp_path / "out"
    with out.open("w") as stream:  # A file, so that whoever replaced instead of writing would be seen.
        subprocess.run([sys.executable, "-c", code], stdout=stream, check=True)
    assert out.read_text() == "hi"
    assert os.path.lexists("/dev/stdout")


def test_what_cannot_be_encoded_is_shown(tmp_path: Path) -> None:
    private_file.replace(tmp_path / "page", "a\udc80b")
    assert (tmp_path / "page").read_text() == "a\\udc80b"


def test_a_folder_of_our_own_is_private_and_no_link(tmp_path: Path) -> None:
    private_file.folder(tmp_path / "own")
    private_file.folder(tmp_path / "own")
    assert stat.S_IMODE((tmp_path / "own").stat().st_mode) == 0o700
    (tmp_path / "linked").symlink_to(tmp_path / "own")
    with pytest.raises(NotADirectoryError):
        private_file.folder(tmp_path / "linked")


def test_what_can_be_written_is_known_before(tmp_path: Path) -> None:
    assert private_file.writable(tmp_path / "report.json")
    assert private_file.writable(Path("/dev/null"))
    assert not private_file.writable(tmp_path)
    assert not private_file.writable(tmp_path / "missing" / "report.json")
