"""A parser in a process of its own: whatever it does, the caller gets a table or a DataError, and nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.io import sandbox

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="limits of a process are set by Unix")
PARSERS = {
    "fine": "import pyarrow as pa\n    print('noise')\n    return pa.table({'a': [1, 2]})",
    "crashes": "os.kill(os.getpid(), 11)",
    "exits": "os._exit(7)",
    "works_for_ever": "while True: pass",
    "waits_for_ever": "import ctypes; ctypes.PyDLL(None).pause()",  # with Python's lock
    "fills_memory": "return bytearray(2**44)",
    "raises": "raise KeyError('odd\\nbyte')",
    "refuses": "from sumwise.errors import DataError\n    raise DataError('Not this one.', hint='take another.')",
    "no_table": "return 3",
    "tells": "Path(options['note']).write_text(f'{os.getpid()} {os.getppid()}'); time.sleep(600)",
}


@pytest.fixture
def parsers(tmp_path, monkeypatch):
    """Parsers in modules of their own, and a file."""
    for name, body in PARSERS.items():
        head = "import os, time\nfrom pathlib import Path\n\n\ndef parse(path, **options):\n    "
        (tmp_path / f"parser_{name}.py").write_text(f"{head}{body}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "x.dta").write_bytes(b"abc")
    return tmp_path


def parsed(folder, name, **options):
    return sandbox.parse(f"parser_{name}", folder / "x.dta", 2**30, **options)


def test_a_table_comes_back_whatever_the_library_prints(parsers):
    assert parsed(parsers, "fine").to_pydict() == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("crashes", "ended the program that reads it"),
        ("exits", "ended the program that reads it"),
        ("fills_memory", "takes more memory"),
        ("raises", "can't be read: 'odd"),
        ("no_table", "can't be read"),
    ],
)
def test_what_goes_wrong_names_the_file_and_what_to_do(parsers, name, words):
    with pytest.raises(DataError, match=words) as caught:
        parsed(parsers, name)
    assert "x.dta" in caught.value.message
    assert caught.value.hint == sandbox.DAMAGED_HINT


def test_errors_of_the_parser_keep_their_words(parsers):
    with pytest.raises(DataError, match=r"Not this one\. Hint: take another\."):
        parsed(parsers, "refuses")


@pytest.mark.parametrize("name", ["works_for_ever", "waits_for_ever"])
def test_a_parser_that_does_not_end_is_ended(parsers, monkeypatch, name):
    monkeypatch.setattr(sandbox, "CPU_SECONDS", 1)
    monkeypatch.setattr(sandbox, "WALL_FACTOR", 3)
    with raises(DataError, "cant-read-probably", 1):
        parsed(parsers, name)


def test_large_files_have_more_time(parsers, monkeypatch):
    asked = []
    monkeypatch.setattr(sandbox, "_run", lambda command, wall: (asked.append(wall), (sandbox.TIMED_OUT, b""))[1])
    with open(parsers / "x.dta", "wb") as file:
        file.truncate(300 * 2**20)
    with raises(DataError, "cant-read-probably", 305, "1,830"):
        parsed(parsers, "fine")
    assert asked == [1830]


def test_an_interruption_ends_the_parser(parsers, monkeypatch):
    started = []

    class Interrupted(subprocess.Popen):
        def communicate(self, *_, **__):
            started.append(self)
            raise KeyboardInterrupt

    monkeypatch.setattr(sandbox.subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        parsed(parsers, "tells", note=str(parsers / "note"))
    assert started[0].returncode == -signal.SIGKILL


def test_the_parser_ends_with_the_program_that_asked(parsers):
    note = parsers / "note"
    code = f"from sumwise.io.sandbox import parse; parse('parser_tells', 'x.dta', 2**30, note={str(note)!r})"
    place = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    asking = subprocess.Popen([sys.executable, "-c", code], cwd=parsers, env=place)
    while not (note.exists() and len(note.read_text().split()) == 2):
        assert asking.poll() is None
        time.sleep(0.02)
    worker, watcher = map(int, note.read_text().split())
    assert running(worker)
    asking.kill()
    asking.wait()
    gone(worker)
    gone(watcher)


def test_a_closed_input_ends_the_parser_where_the_system_does_not(tmp_path):
    code = "import ctypes; from sumwise.io.child import watch; watch(600); ctypes.PyDLL(None).pause()"
    watching = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    watching.stdin.close()
    assert watching.wait(60) == sandbox.TIMED_OUT


def test_modules_in_the_working_folder_are_not_loaded(parsers, tmp_path, monkeypatch):
    study = tmp_path / "study"
    study.mkdir()
    for name in ("pyarrow", "json", "numpy"):
        (study / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.chdir(study)
    assert parsed(parsers, "fine").num_rows == 2
    assert not (tmp_path / "ran").exists()


def test_a_python_without_a_program_says_so(parsers, monkeypatch):
    monkeypatch.setattr(sys, "executable", "")
    with raises(DataError, "read-process-own"):
        parsed(parsers, "fine")


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat")
        return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def gone(pid: int) -> None:
    end = time.monotonic() + 60
    while running(pid):
        assert time.monotonic() < end, f"process {pid} goes on"
        time.sleep(0.02)
