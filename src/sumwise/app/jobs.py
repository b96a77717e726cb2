"""Jobs of the app: commands of sumwise in child processes, one at a time, that survive a closed tab or server."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from sumwise.app.workspace import Workspace, is_result, read_json, write_json
from sumwise.errors import DataError

PATIENCE = 5.0  # seconds between asking a job to stop and ending it
LINES = 200  # of a log that are shown
LIVE = ("queued", "running")


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
        self._children: dict[str, subprocess.Popen] = {}
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def start(self, study: str, kind: str, arguments: list[str]) -> dict[str, Any]:
        """Queue a command for a study; an error where one is under way."""
        folder = self.workspace.study(study)
        with self._lock:
            if self.state(study)["status"] in LIVE:
                raise DataError("This study is being worked on already.", hint="wait for it, or cancel it.")
            job = {"kind": kind, "arguments": arguments, "status": "queued", "asked": time.time()}
            write_json(folder / "job.json", job)
            (folder / "job.log").write_text("", "utf-8")
        self._waiting.put(study)
        return self.state(study)

    def state(self, study: str) -> dict[str, Any]:
        """Where a study's job stands, with the end of its log."""
        folder = self.workspace.study(study)
        job: dict[str, Any] = read_json(folder / "job.json") or {"status": "none"}
        if job["status"] == "running" and study not in self._children and not _alive(job.get("pid")):
            done = job["kind"] == "fit" and _finished(folder / "result", job.get("asked", 0.0))
            job["status"] = "done" if done else "interrupted"
        try:
            job["lines"] = (folder / "job.log").read_text("utf-8", "replace").splitlines()[-LINES:]
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
            child, pid = self._children.get(study), job.get("pid")
            write_json(folder / "job.json", {**_kept(job), "status": "cancelled"})
        if pid and (child is None or child.poll() is None):
            _end(pid, child)
        return self.state(study)

    def close(self) -> None:
        """Take no more jobs; one that runs goes on by itself and leaves its result where it belongs."""
        self._waiting.put(None)

    def _work(self) -> None:
        while (study := self._waiting.get()) is not None:
            try:
                self._run(study)
            except (OSError, DataError):  # the study's folder is gone
                continue

    def _run(self, study: str) -> None:
        folder = self.workspace.study(study)
        with self._lock:
            job = _kept(self.state(study))
            if job["status"] != "queued":
                return  # cancelled while it waited
            with (folder / "job.log").open("ab") as log:
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
            write_json(folder / "job.json", {**job, "status": "running", "pid": child.pid, "began": time.time()})
        code = child.wait()
        with self._lock:
            self._children.pop(study, None)
            job = _kept(self.state(study))
            if job["status"] != "cancelled":
                job["status"] = "done" if code == 0 else "failed"
            write_json(folder / "job.json", {**job, "code": code, "ended": time.time()})


def _kept(job: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in job.items() if k != "lines"}


def _finished(result: Path, asked: float) -> bool:
    """Whether a result was finished after the job was asked for: by a child that outlived its server."""
    return is_result(result) and max(p.stat().st_mtime for p in result.iterdir()) >= asked


def _alive(pid: Any) -> bool:
    """Whether a process of ours with that number runs: one that leads its own group, as jobs do."""
    if not isinstance(pid, int) or not Path(f"/proc/{pid}").exists():
        return False
    try:
        return os.getpgid(pid) == pid
    except OSError:
        return False


def _end(pid: int, child: subprocess.Popen | None) -> None:
    for sign in (signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(pid, sign)
        except OSError:
            return
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if (child.poll() is not None) if child is not None else not _alive(pid):
                return
            time.sleep(0.05)
