"""One command at a time, in a child process, that can be cancelled and outlives the server."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import sumwise.app.jobs
from messages import raises
from sumwise.app.jobs import Jobs, _alive, _process
from sumwise.app.workspace import Workspace, write_json
from sumwise.errors import DataError

CODE = """
import sys, time, pathlib
what = sys.argv[1]
print("working on", what, flush=True)
if what == "wait":
    pathlib.Path("begun").touch()
    time.sleep(600)
sys.exit(3 if what == "fail" else 0)
"""


@pytest.fixture
def jobs(tmp_path):
    workspace = Workspace(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    found = Jobs(workspace, [sys.executable, "-c", CODE])
    yield found
    for name in ("a", "b"):
        if found.state(name)["status"] in ("queued", "running"):
            found.cancel(name)
    found.close()


def until(jobs, name, *statuses):
    for _ in range(6000):  # as long as a busy machine needs
        state = jobs.state(name)
        if state["status"] in statuses:
            return state
        time.sleep(0.05)
    raise AssertionError(state)


def test_a_job_ends_with_its_code_and_words(jobs):
    assert jobs.start("a", "fit", ["fine"])["status"] in ("queued", "running", "done")
    done = until(jobs, "a", "done")
    assert done["lines"] == ["working on fine"]
    jobs.start("a", "fit", ["fail"])
    assert until(jobs, "a", "failed")["code"] == 3


def test_a_second_job_waits_and_a_running_one_can_be_cancelled(jobs, tmp_path):
    jobs.start("a", "fit", ["wait"])
    until(jobs, "a", "running")
    with raises(DataError, "study-being-worked"):
        jobs.start("a", "fit", ["fine"])
    assert jobs.start("b", "fit", ["fine"])["status"] == "queued"
    assert jobs.cancel("a")["status"] == "cancelled"
    assert until(jobs, "b", "done")["lines"] == ["working on fine"]
    assert jobs.state("a")["status"] == "cancelled"
    with raises(DataError, "nothing-being-worked"):
        jobs.cancel("a")


def begun(jobs, tmp_path):
    """Start a job that waits, and return its state once it does."""
    jobs.start("a", "fit", ["wait"])
    for _ in range(6000):
        if (tmp_path / "a" / "begun").exists():
            break
        time.sleep(0.05)
    return until(jobs, "a", "running")


def test_the_trace_of_a_command_that_was_cancelled_is_shown_to_nobody(jobs, tmp_path):
    """In its first second a command is not yet ready to answer an interrupt itself: Python does."""
    begun(jobs, tmp_path)
    jobs.cancel("a")
    log = tmp_path / "a" / "job.log"
    log.write_text("working on wait\nTraceback (most recent call last):\n  File ...\nKeyboardInterrupt\n")
    assert jobs.state("a")["lines"] == ["working on wait"]


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
def test_a_job_that_the_system_ended_was_interrupted_and_did_not_fail(jobs, tmp_path, sign):
    os.killpg(begun(jobs, tmp_path)["pid"], sign)
    assert until(jobs, "a", "interrupted", "failed")["status"] == "interrupted"
    assert jobs.state("a")["code"] == -sign


@pytest.mark.parametrize("what", ["fine", "fail"])
def test_no_moment_of_a_job_looks_interrupted(jobs, monkeypatch, what):
    """A page that asks between two notes would stop asking."""
    seen, write = [], sumwise.app.jobs.write_json

    def noted(path, value):
        seen.append(jobs.state("a")["status"])
        write(path, value)
        seen.append(jobs.state("a")["status"])

    monkeypatch.setattr(sumwise.app.jobs, "write_json", noted)
    jobs.start("a", "fit", [what])
    ended = until(jobs, "a", "done", "failed")["status"]
    jobs.close()
    jobs._thread.join()
    assert seen == ["none", "queued", "queued", "running", "running", ended]


def test_a_waiting_job_can_be_cancelled(jobs):
    jobs.start("a", "fit", ["wait"])
    until(jobs, "a", "running")
    jobs.start("b", "fit", ["fine"])
    jobs.cancel("b")
    jobs.cancel("a")
    jobs.start("a", "fit", ["fine"])
    until(jobs, "a", "done")
    assert jobs.state("b")["status"] == "cancelled"
    assert jobs.state("b")["lines"] == []


def test_what_a_killed_server_left_is_recognised(jobs, tmp_path):
    left = {"kind": "fit", "arguments": [], "status": "running", "pid": 2**22 + 1}
    write_json(tmp_path / "a" / "job.json", left)
    assert jobs.state("a")["status"] == "interrupted"
    (tmp_path / "a" / "result").mkdir()
    for name in ("summary.json", "provenance.json"):
        (tmp_path / "a" / "result" / name).write_text("{}")
    assert jobs.state("a")["status"] == "done"
    (tmp_path / "a" / "job.json").write_text(json.dumps(left)[:10])
    assert jobs.state("a")["status"] == "none"


def test_another_process_of_the_same_number_is_neither_taken_for_the_job_nor_ended(jobs, tmp_path):
    """The number of a job whose server was killed can belong to anybody's process later."""
    command = [sys.executable, "-c", "import sys; print('here', flush=True); sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as other:
        assert other.stdout.readline() == b"here\n"
        left = {"kind": "fit", "arguments": [], "status": "running", "pid": other.pid, "process": "1"}
        write_json(tmp_path / "a" / "job.json", left)
        assert jobs.state("a")["status"] == "interrupted"
        with raises(DataError, "nothing-being-worked"):
            jobs.cancel("a")
        assert other.poll() is None


@pytest.mark.parametrize("damaged", ["3", '"x"', "[1]", '{"status": "running"}', '{"status": "queued"}', "[" * 100_000])
def test_a_damaged_note_on_a_job_keeps_nobody_from_a_new_one(jobs, tmp_path, damaged):
    (tmp_path / "a" / "job.json").write_text(damaged)
    assert jobs.state("a")["status"] in ("none", "interrupted")
    jobs.start("a", "fit", ["fine"])
    assert until(jobs, "a", "done")["lines"] == ["working on fine"]


def test_a_name_that_no_command_can_take_does_not_end_the_queue(jobs):
    """It once ended the thread that runs jobs: every later one waited for ever."""
    with raises(DataError, "name-contains-zero"):
        jobs.start("a", "tables", ["a\0b"])
    jobs.start("a", "fit", ["fine"])
    until(jobs, "a", "done")


SERVER = """
import sys, time
from pathlib import Path
from sumwise.app.jobs import Jobs
from sumwise.app.workspace import Workspace
jobs = Jobs(Workspace(Path(sys.argv[1])), [sys.executable, "-c", sys.argv[2]])
jobs.start("a", "fit", ["wait"])
while not Path(sys.argv[1], "a", "begun").exists():
    time.sleep(0.05)
print("begun", flush=True)
time.sleep(600)
"""


def test_a_job_of_a_killed_server_is_still_known_and_can_be_cancelled(jobs, tmp_path):
    command = [sys.executable, "-c", SERVER, str(tmp_path), CODE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout.readline() == "begun\n"
        server.kill()
    assert jobs.state("a")["status"] == "running"
    with raises(DataError, "study-being-worked"):
        jobs.start("a", "fit", ["fine"])
    job = json.loads((tmp_path / "a" / "job.json").read_text())
    assert jobs.cancel("a")["status"] == "cancelled"
    for _ in range(6000):
        if not _alive(job):
            break
        time.sleep(0.05)
    assert not _alive(job)
    jobs.start("a", "fit", ["fine"])
    assert until(jobs, "a", "done")["lines"] == ["working on fine"]


def test_a_process_that_ended_and_was_not_waited_for_is_not_alive():
    """Where the server died with its job, nobody may wait for the job: it stays listed among the processes."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True)
    job = {"pid": child.pid, "process": _process(child.pid)}
    assert _alive(job)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is still listed
    assert not _alive(job)
    child.communicate()
