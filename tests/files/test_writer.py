"""Whole or not at all, one writer at a time, and nothing left by the killed."""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap

import pytest

from messages import raises
from sumwise import aggregate
from sumwise.errors import DataError
from sumwise.io.formats.files import open_sheet
from sumwise.io.locks import lock, unlock
from sumwise.io.scratch import scratch_file, scratch_folder, temporary_files_beside
from sumwise.io.writer import UNFINISHED, new_file, new_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="locks of Unix")


def killed(script, *arguments):
    """Run a script that says when it is in the middle of writing, and kill it there."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "writing\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()


FILE = """
    import sys, time
    from sumwise.io.writer import new_file
    with new_file(sys.argv[1]) as file:
        file.write(b"half")
        print("writing", flush=True)
        time.sleep(60)
"""
FOLDER = """
    import sys, time
    from sumwise.io.writer import new_folder
    with new_folder(sys.argv[1]) as building:
        (building / "x").write_text("half")
        print("writing", flush=True)
        time.sleep(60)
"""


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path):
    (tmp_path / "x").write_text("old")
    killed(FILE, tmp_path / "x")
    assert len(names(tmp_path)) == 2
    assert (tmp_path / "x").read_text() == "old"
    with new_file(tmp_path / "x") as file:
        file.write(b"new")
    assert names(tmp_path) == ["x"]
    assert (tmp_path / "x").read_text() == "new"


def test_what_a_killed_maker_of_a_folder_left_is_removed_by_the_next(tmp_path):
    killed(FOLDER, tmp_path / "o2[1]")
    assert len(names(tmp_path)) == 1
    with new_folder(tmp_path / "o2[1]") as building:
        (building / "x").write_text("new")
    assert names(tmp_path) == ["o2[1]"]
    assert names(tmp_path / "o2[1]") == ["x"]


def test_what_is_being_written_or_is_not_ours_stays(tmp_path):
    (tmp_path / ".x-mythesis").mkdir()  # as long as a random name, and without our mark
    (tmp_path / ".x-mythesis" / "chapter").touch()
    (tmp_path / ".x.notes.tmp").touch()
    with new_folder(tmp_path / "x") as first, new_folder(tmp_path / "x") as second:
        assert first != second
        assert (first / UNFINISHED).exists()
        first_name = first.name
        with new_file(tmp_path / "y") as one, new_file(tmp_path / "y") as two:
            one.write(b"1")
            two.write(b"2")
            assert os.path.exists(one.name)
        assert (tmp_path / "y").read_bytes() == b"1"  # the last one to finish
        assert first_name in names(tmp_path)
    assert {".x-mythesis", ".x.notes.tmp", "x", "y"} == set(names(tmp_path))


def test_failure_leaves_what_was(tmp_path):
    (tmp_path / "x").write_text("old")
    with pytest.raises(ZeroDivisionError), new_file(tmp_path / "x") as file:
        file.write(b"half")
        raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError), new_folder(tmp_path / "f") as building:
        (building / "x").write_text("half")
        raise ZeroDivisionError
    assert names(tmp_path) == ["x"]
    assert (tmp_path / "x").read_text() == "old"


def test_mode_is_that_of_any_new_folder(tmp_path):
    with new_folder(tmp_path / "f"):
        pass
    (tmp_path / "g").mkdir()
    assert (tmp_path / "f").stat().st_mode == (tmp_path / "g").stat().st_mode


def test_lock_is_held_by_one(tmp_path):
    held = lock(tmp_path / "l")
    assert lock(tmp_path / "l") is None
    unlock(held)
    assert names(tmp_path) == []
    again = lock(tmp_path / "l")
    assert again is not None
    unlock(again)


def test_lock_that_was_removed_meanwhile_locks_nothing(tmp_path, monkeypatch):
    path, taken = tmp_path / "l", []
    samestat = os.path.samestat

    def removed_once(one, other):
        if not taken:
            taken.append(path.unlink())
            return False
        return samestat(one, other)

    monkeypatch.setattr(os.path, "samestat", removed_once)
    held = lock(path)
    assert path.exists()
    unlock(held)


def test_places_that_are_no_place_for_a_file_are_refused(tmp_path):
    with raises(DataError, "no-folder-save"), new_file(tmp_path / "a" / "b"):
        pass
    with raises(DataError, "folder-name-file"), new_file(tmp_path):
        pass


@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "folder"])
def test_a_lock_that_somebody_put_there_is_neither_followed_nor_waited_for(tmp_path, kind):
    """A link in the lock's place once emptied the file that it led to; a pipe waited for ever."""
    (tmp_path / "mine").write_text("kept")
    put = {
        "link": lambda place: place.symlink_to(tmp_path / "mine"),
        "dangling link": lambda place: place.symlink_to(tmp_path / "new"),
        "pipe": os.mkfifo,
        "folder": os.mkdir,
    }
    put[kind](tmp_path / "lock")
    with raises(DataError, "lock-file-link"):
        lock(tmp_path / "lock")
    assert (tmp_path / "mine").read_text() == "kept"
    assert names(tmp_path) == ["lock", "mine"]


def test_pipes_among_the_leftovers_are_passed_over(tmp_path):
    os.mkfifo(tmp_path / ".x.01234567.tmp")
    (tmp_path / ".y-abcdefgh").mkdir()
    os.mkfifo(tmp_path / ".y-abcdefgh" / UNFINISHED)
    with new_file(tmp_path / "x") as file:
        file.write(b"new")
    with new_folder(tmp_path / "y"):
        pass
    assert names(tmp_path) == [".x.01234567.tmp", ".y-abcdefgh", "x", "y"]


def test_a_pipe_is_not_replaced_by_a_file(tmp_path):
    os.mkfifo(tmp_path / "x")
    with raises(DataError, "link-pipe-device"), new_file(tmp_path / "x"):
        pass
    assert (tmp_path / "x").is_fifo()


def test_an_empty_one_of_a_maker_that_was_killed_at_once_is_removed(tmp_path):
    (tmp_path / ".x-abcd1234").mkdir()
    with new_folder(tmp_path / "x"):
        pass
    assert names(tmp_path) == ["x"]


def test_a_folder_that_was_taken_for_a_leftover_is_made_again(tmp_path, monkeypatch):
    real, made = tempfile.mkdtemp, []

    def removed_once(**options):
        made.append(real(**options))
        if len(made) == 1:
            os.rmdir(made[0])
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", removed_once)
    with new_folder(tmp_path / "x") as building:
        assert str(building) == made[1]
    assert names(tmp_path) == ["x"]


@pytest.fixture
def nowhere(monkeypatch):
    """No folder for temporary files, as in a read-only container."""

    def none():
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_get_default_tempdir", none)


def test_a_file_is_gone_afterwards():
    with scratch_file("x.csv") as path:
        path.write_text("a")
        assert path.name == "x.csv"
    assert not path.parent.exists()


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="files in memory are Linux's")
def test_files_are_read_without_a_folder(nowhere, tmp_path):
    assert scratch_folder() is None
    (tmp_path / "x.csv").write_bytes("café,b\n1,2\n3,4\n".encode("latin-1"))
    assert list(open_sheet(tmp_path / "x.csv").frame["café"]) == [1, 3]
    (tmp_path / "y.csv").write_text("a,b\nx,u\ny,v\nx,v\n")
    assert aggregate.aggregate(tmp_path / "y.csv", ["a", "b"]).n == 3


def test_without_a_folder_or_memory_the_error_names_the_variable(nowhere, monkeypatch):
    monkeypatch.delattr(os, "memfd_create", raising=False)
    with raises(DataError, "no-folder-temporary-files"), scratch_file("x.csv"):
        pass


def test_the_folder_of_the_result_serves_for_temporary_files(nowhere, tmp_path):
    temporary_files_beside(tmp_path / "new" / "result")
    assert tempfile.tempdir == str(tmp_path)


def test_a_folder_that_is_there_is_kept(tmp_path):
    before = tempfile.gettempdir()
    temporary_files_beside(tmp_path / "result")
    assert tempfile.gettempdir() == before
