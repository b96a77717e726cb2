"""The way in and out: exit codes, one line per error, --debug, Ctrl-C, pipes, start-up."""

from __future__ import annotations

import errno
import faulthandler
import os
import resource
import signal
import subprocess
import sys
import textwrap
import warnings

import pytest

from sumwise.cli import entry, main
from sumwise.errors import DataError, NotConverged, UnknownName

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "NO_COLOR": "1"}


def sumwise(*arguments, **options):
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "sumwise", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, **options)


def wrapped(error, cause):
    error.__cause__ = cause
    return error


@pytest.fixture
def raising(monkeypatch):
    """Make the application raise this error instead of running."""

    def set_error(error):
        def run(arguments):
            raise error

        monkeypatch.setattr(entry, "run", run)

    return set_error


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (DataError("3 units are empty.", hint="drop them."), 2, "3 units are empty. Hint: drop them."),
        (UnknownName("No column 'vote'."), 2, "No column 'vote'."),
        (DataError("two\nlines \x1b[31m[red]"), 2, "two lines \\x1b[31m[red]"),
        (FileNotFoundError(2, "No such file or directory", "a.csv"), 2, "No such file or directory: a.csv"),
        (OSError("disk full"), 2, "disk full"),
        (OSError(errno.ENOSPC, "No space left on device"), 2, "No space left on device. Hint: free some space"),
        (OSError(errno.EROFS, "Read-only file system", "r"), 2, "Read-only file system: r. Hint: name a folder"),
        (PermissionError(errno.EACCES, "Permission denied", "r"), 2, "Permission denied: r. Hint: ask for access"),
        (MemoryError(), 2, "There is not enough memory for this. Hint: close"),
        (MemoryError("Unable to allocate 7.45 GiB for an array"), 2, "There is not enough memory for this: 7.45 GiB"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), 2, "There is not enough memory for this."),
        (RuntimeError("can't start new thread"), 2, "There is not enough memory for this."),
        (wrapped(SystemError("in compiled code"), MemoryError()), 2, "There is not enough memory for this."),
        (KeyboardInterrupt(), 130, "Interrupted."),
        (
            ZeroDivisionError("division by zero"),
            1,
            "ZeroDivisionError: division by zero Hint: this is a defect",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_error_is_one_line_and_a_code(raising, capsys, error, code, line):
    raising(error)
    assert main(["anything"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(line)
    assert err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--debug", "demo"], ["demo", "--debug"]])
def test_debug_shows_the_traceback_before_the_line_and_keeps_the_exit_code(raising, arguments, capsys):
    raising(DataError("3 units are empty."))
    assert main(arguments) == 2
    told = capsys.readouterr().err
    assert told.startswith("Traceback")
    assert told.endswith("3 units are empty.\n")


def test_debug_behind_two_dashes_is_an_argument():
    assert entry.without_debug(["demo", "--", "--debug"]) == (["demo", "--", "--debug"], False)
    assert entry.without_debug(["--debug", "demo", "--", "x"]) == (["demo", "--", "x"], True)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nope"], "No such command 'nope'. Hint: see sumwise --help."),
        (["demo", "--nope"], "No such option: --nope. Hint: see sumwise demo --help."),
    ],
)
def test_unusable_command_names_its_help(capsys, arguments, line):
    assert main(arguments) == 2
    assert capsys.readouterr().err == line + "\n"


def test_a_warning_is_one_line(monkeypatch, capsys):
    def run(arguments):
        warnings.warn(NotConverged("Stopped after 10 steps."), stacklevel=1)
        return 0

    monkeypatch.setattr(entry, "run", run)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main([]) == 0
    assert capsys.readouterr().err == "Warning: Stopped after 10 steps.\n"


def test_an_exit_code_is_passed_on(raising):
    raising(SystemExit(3))
    assert main([]) == 3
    raising(SystemExit("no"))
    assert main([]) == 2


def test_module_and_errors_in_a_process():
    done = sumwise("demo", "nope")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("There is no family 'nope'. Hint: there are ")
    assert "Traceback" in sumwise("demo", "nope", "--debug").stderr


def test_help_loads_nothing_heavy():
    code = """
        import sys
        from sumwise.cli import main
        assert main(["--help"]) == 0
        heavy = "pandas scipy sklearn numba matplotlib duckdb pyarrow torch pyspark jinja2".split()
        sys.exit(" ".join(name for name in heavy if name in sys.modules) or 0)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(os.name == "nt", reason="signals and pipes of POSIX")
def test_ctrl_c_is_one_line_and_130():
    code = """
        import os, signal, sys
        from sumwise.cli import gallery, main
        gallery.read_scripts = lambda folder: os.kill(os.getpid(), signal.SIGINT)
        sys.exit(main(["demo"]))
    """
    process = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(process, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 128 + signal.SIGINT
    assert done.stderr == "Interrupted.\n"


@pytest.mark.skipif(os.name == "nt", reason="signals and pipes of POSIX")
def test_closed_pipe_is_quiet():
    read, write = os.pipe()
    os.close(read)
    process = [sys.executable, "-m", "sumwise", "--version"]
    done = subprocess.run(process, stdout=write, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


def test_an_interruption_of_compiled_code_is_one():
    from sumwise.cli.entry import INTERRUPTED, line_and_code

    error = SystemError("returned a result with an exception set")
    error.__cause__ = KeyboardInterrupt()
    assert line_and_code(error) == ("Interrupted.", INTERRUPTED)
    assert line_and_code(SystemError("other"))[1] == 1


@pytest.mark.parametrize("name", ["-1e5.csv", "--yes.csv"])
def test_a_file_named_like_an_option_is_named_with_the_way_to_write_it(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["init", name]) == 2
    assert f"./{name}" not in capsys.readouterr().err  # there is no such file
    (tmp_path / name).write_text("precinct,a\np,1\n")
    assert main(["init", name]) == 2
    assert f"'{name}' begins with a dash and is read as an option. Hint: write ./{name}." in capsys.readouterr().err
    main(["init", "--", name])
    assert "read as an option" not in capsys.readouterr().err


def crash():
    faulthandler.disable()  # pytest's would print every stack
    os.kill(os.getpid(), signal.SIGSEGV)
    return 0


def leave():
    os._exit(1)  # as OpenMP does when it can't start a thread


@pytest.mark.parametrize("ending", [crash, leave])
def test_a_library_that_ends_the_process_is_answered_in_one_line(monkeypatch, capfd, ending):
    monkeypatch.setattr(entry, "memory_is_limited", lambda: True)
    monkeypatch.setattr(entry, "run", lambda arguments: ending())
    assert entry.main(["fit"]) == 2
    assert capfd.readouterr().err.startswith("There is not enough memory for this. Hint:")


@pytest.mark.parametrize("code", [0, 2, 130])
def test_an_exit_code_comes_back(code):
    assert entry.in_a_child(lambda: code) == code


def test_a_killed_child_is_not_taken_for_lack_of_memory():
    assert entry.in_a_child(lambda: os.kill(os.getpid(), signal.SIGKILL) or 0) == -signal.SIGKILL


def test_a_limit_is_seen(monkeypatch):
    assert not entry.memory_is_limited()
    monkeypatch.setattr(resource, "getrlimit", lambda limit: (2**30, resource.RLIM_INFINITY))
    assert entry.memory_is_limited()


@pytest.mark.parametrize(("given", "expected"), [(None, "1"), ("3", "3")])
def test_libraries_get_one_thread_where_memory_is_limited_unless_the_user_says_more(monkeypatch, given, expected):
    for name in entry.THREADS:
        if given is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, given)
    assert entry.in_a_child(lambda: int({os.environ[name] for name in entry.THREADS} != {expected})) == 0
