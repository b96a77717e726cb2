"""Work under a limit on memory: what ends the child is answered, what it says comes back."""

from __future__ import annotations

import faulthandler
import os
import resource
import signal

import pytest

from sumwise.cli import entry, limited


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
    assert limited.in_a_child(lambda: code) == code


def test_a_killed_child_is_not_taken_for_lack_of_memory():
    assert limited.in_a_child(lambda: os.kill(os.getpid(), signal.SIGKILL) or 0) == -signal.SIGKILL


def test_a_limit_is_seen(monkeypatch):
    assert not limited.memory_is_limited()
    monkeypatch.setattr(resource, "getrlimit", lambda limit: (2**30, resource.RLIM_INFINITY))
    assert limited.memory_is_limited()


@pytest.mark.parametrize(("given", "expected"), [(None, "1"), ("3", "3")])
def test_libraries_get_one_thread_where_memory_is_limited_unless_the_user_says_more(monkeypatch, given, expected):
    for name in limited.THREADS:
        if given is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, given)
    assert limited.in_a_child(lambda: int({os.environ[name] for name in limited.THREADS} != {expected})) == 0
