"""Commands under faults: killed, or out of disk, at a chosen file operation; the tests of faults talk to it.

Run as a program it reads one JSON request per line, forks a child that runs the command line with the fault, and
answers with its exit code and how many file operations it did. Modules are loaded once, and no clock decides.
"""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

OPERATIONS = ("replace", "rename", "fsync", "mkdir", "unlink", "remove", "rmdir")


def arm(fault: str | None, at: int) -> list[int]:
    """Make the file operation number `at` the last one: by SIGKILL, or by a disk that is full from there on."""
    count = [0]

    def wrapped(operation: Any, name: str) -> Any:
        def call(*given: Any, **options: Any) -> Any:
            count[0] += 1
            if fault == "kill" and count[0] == at:
                os.kill(os.getpid(), signal.SIGKILL)
            if fault == "term" and count[0] == at:
                os.kill(os.getpid(), signal.SIGTERM)
            if fault == "full" and count[0] >= at and name in ("fsync", "mkdir", "replace", "rename"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return operation(*given, **options)

        return call

    for name in OPERATIONS:
        setattr(os, name, wrapped(getattr(os, name), name))
    return count


def child(request: dict[str, Any], answer: int) -> None:
    """Run one command, say how many file operations it did, and end."""
    os.environ["SUMWISE_STATE"] = os.path.join(request["cwd"], "state")  # where sumwise notes ledgers
    os.chdir(request["cwd"])
    sink = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    if request.get("memory"):
        import resource

        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + request["memory"], now + request["memory"]))
    count = arm(request.get("fault"), request.get("at", 0))
    from sumwise.cli import main

    code = main(request["arguments"])
    os.write(answer, json.dumps(count[0]).encode())
    os._exit(code)


def serve() -> None:
    """Answer requests until standard input ends."""
    import duckdb  # noqa: F401
    import jinja2  # noqa: F401
    import matplotlib.figure  # noqa: F401
    import numba
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    import sumwise.cli.app
    import sumwise.cli.study.fitting
    import sumwise.collective
    import sumwise.ecological
    import sumwise.proportions
    import sumwise.report.svg

    sumwise.report.svg.draw = lambda *numbers, **options: "<svg></svg>"  # most of a fit, and no file operation
    sumwise.cli.app.application()
    if importlib.util.find_spec("pydantic"):  # some versions of typer import it with the first argument
        import pydantic  # noqa: F401
    numba.njit(lambda x: x)(1)  # Numba sets itself up once
    for line in sys.stdin:
        read, write = os.pipe()
        process = os.fork()
        if process == 0:
            try:
                child(json.loads(line), write)
            finally:
                os._exit(99)
        os.close(write)
        status = os.waitpid(process, 0)[1]
        count = os.read(read, 100)
        os.close(read)
        sys.stdout.write(json.dumps([os.waitstatus_to_exitcode(status), int(count or 0)]) + "\n")
        sys.stdout.flush()


class Commands:
    """Run commands with faults, one after the other."""

    def __init__(self, cwd: Path) -> None:
        path = os.pathsep.join([str(Path(__file__).parents[1] / "src"), *filter(None, sys.path)])
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        self.cwd = cwd

    def run(self, *arguments: str, **request: Any) -> tuple[int, int]:
        """Exit code (negative: a signal) and the number of file operations."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        given = {"arguments": arguments, "cwd": str(self.cwd), "log": str(self.cwd / "log.txt"), **request}
        self.process.stdin.write(json.dumps(given) + "\n")
        self.process.stdin.flush()
        code, count = json.loads(self.process.stdout.readline())
        return code, count

    def said(self) -> str:
        """What the last command wrote."""
        return (self.cwd / "log.txt").read_text("utf-8", "replace")

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


if __name__ == "__main__":
    serve()
