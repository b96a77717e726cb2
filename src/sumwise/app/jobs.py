"""Jobs of the app: commands of sumwise in child processes, one at a time, that survive a closed tab or server."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from itertools import takewhile
from pathlib import Path
from typing import Any

from sumwise.app.workspace import Workspace, is_result, read_object, write_json
from sumwise.errors import DataError
from sumwise.io.writer import open_log, write_text

PATIENCE = 5.0  # seconds between asking a job to stop and ending it
LINES = 200  # of a log that are shown
LIVE = ("queued", "running")
INTERRUPTED = 130  # the exit code of a command that was asked to stop
TRACES = ("Traceback (most recent call last)", "Fatal Python error", "Exception ignored in")


class Jobs:
    """A queue of commands, each in the folder of its study with its state in ``job.json`` and its words in ``job.log``.

    Parameters
    ----------
    workspace : Workspace
    command : list of str, optional
        How sumwise is started; by default this Python with ``-m sumwise``.
    """

    def __init__(self, workspace: Workspace, command: list[str] | None = None) -> None:
        self.workspace = workspace
        self.command = command or [sys.executable, "-m", "sumwise"]
        self._waiting: queue.Queue[str | None] = queue.Queue()
        self._ours: set[str] = set()  # studies whose job waits or runs, from before its first note to after its last
        self._children: dict[str, subprocess.Popen] = {}
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def start(self, study: str, kind: str, arguments: list[str]) -> dict[str, Any]:
        """Queue a command for a study; an error where one is under way."""
        folder = self.workspace.study(study)
        with self._lock:
            if any("\0" in a for a in arguments):
                raise DataError("A name contains a zero byte.", hint="reload the page, and choose from its lists.")
            if self.state(study)["status"] in LIVE:
                raise DataError("This study is being worked on already.", hint="wait for it, or cancel it.")
            job = {"kind": kind, "arguments": arguments, "status": "queued", "asked": time.time()}
            write_text(folder / "job.log", "", private=True)
            self._ours.add(study)
            write_json(folder / "job.json", job)
        self._waiting.put(study)
        return self.state(study)

    def state(self, study: str) -> dict[str, Any]:
        """Where a study's job stands, with the end of its log."""
        folder = self.workspace.study(study)
        ours = study in self._ours
        job: dict[str, Any] = {"status": "none", **read_object(folder / "job.json")}
        ours = ours or study in self._ours  # it may begin or end while its note is read
        if not ours and job["status"] in LIVE and (job["status"] == "queued" or not _alive(job)):  # its server is gone
            done = job.get("kind") == "fit" and _finished(folder / "result", job.get("asked", 0.0))
            job["status"] = "done" if done else "interrupted"
        try:
            job["lines"] = (folder / "job.log").read_text("utf-8", "replace").splitlines()[-LINES:]
            if job["status"] == "cancelled":
                job["lines"] = list(takewhile(lambda line: not line.startswith(TRACES), job["lines"]))
        except OSError:
            job["lines"] = []
        return job

    def cancel(self, study: str) -> dict[str, Any]:
        """Ask a job to stop, and end it where it doesn't."""
        folder = self.workspace.study(study)
        with self._lock:
            job = self.state(study)
            if job["status"] not in LIVE:
                raise DataError("Nothing is being worked on.", hint="look at the study's state.")
            child = self._children.get(study)
            write_json(folder / "job.json", {**_kept(job), "status": "cancelled"})
        if child.poll() is None if child is not None else _alive(job):
            _end(job, child)
        return self.state(study)

    @property
    def busy(self) -> bool:
        """Whether a job waits or runs."""
        return bool(self._ours)

    def close(self) -> None:
        """Take no more jobs; one that runs goes on by itself and leaves its result where it belongs."""
        self._waiting.put(None)

    def _work(self) -> None:
        while (study := self._waiting.get()) is not None:
            try:
                self._run(study)
            except (OSError, DataError):  # the study's folder is gone
                continue
            finally:
                self._ours.discard(study)

    def _run(self, study: str) -> None:
        folder = self.workspace.study(study)
        with self._lock:
            job = _kept(self.state(study))
            if job["status"] != "queued":
                return  # cancelled while it waited
            with open_log(folder / "job.log") as log:
                child = subprocess.Popen(  # noqa: S603  sumwise itself, with checked arguments and no shell
                    [*self.command, *job["arguments"]],
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"},
                    start_new_session=True,
                )
            self._children[study] = child
            began = {"pid": child.pid, "process": _process(child.pid), "began": time.time()}
            write_json(folder / "job.json", {**job, "status": "running", **began})
        code = child.wait()
        with self._lock:
            job = _kept(self.state(study))
            if job["status"] != "cancelled":
                stopped = code < 0 or code == INTERRUPTED  # by a signal: of the system, or of a person
                job["status"] = "done" if code == 0 else "interrupted" if stopped else "failed"
            write_json(folder / "job.json", {**job, "code": code, "ended": time.time()})
            self._children.pop(study, None)


def _kept(job: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in job.items() if k != "lines"}


def _finished(result: Path, asked: float) -> bool:
    """Whether a result was finished after the job was asked for: by a child that outlived its server."""
    return is_result(result) and max(p.stat().st_mtime for p in result.iterdir()) >= asked


ENDED = ("Z", "X")  # states of a process that has ended and that nobody has waited for


def _process(pid: int) -> str:
    """When a process was started, as the system counts it: a later one of its number differs. Empty if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return "" if fields[0] in ENDED else fields[19]
    except (OSError, IndexError):
        return ""


def _alive(job: dict[str, Any]) -> bool:
    """Whether the process of a job runs: that very one, which leads a group of its own."""
    pid = job.get("pid")
    if not isinstance(pid, int) or pid <= 1 or not job.get("process") or _process(pid) != job["process"]:
        return False
    try:
        return os.getpgid(pid) == pid
    except OSError:
        return False


def _end(job: dict[str, Any], child: subprocess.Popen | None) -> None:
    for sign in (signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(job["pid"], sign)
        except OSError:
            return
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if (child.poll() is not None) if child is not None else not _alive(job):
                return
            time.sleep(0.05)
