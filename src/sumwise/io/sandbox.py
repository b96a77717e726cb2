"""Parse a file in another process, which has limited time and memory and ends with this one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

from sumwise.errors import DataError, UnknownName
from sumwise.io.child import REFUSED, TIMED_OUT

CPU_SECONDS = 5  # for any file, loading the parser included
BYTES_PER_SECOND = 2**20  # and a second for every one of these; ReadStat reads 30 of them in a second
WALL_FACTOR = 6  # by the clock: a machine may be busy, or a disk far away
DAMAGED_HINT = "is the file complete? Save it again, or as CSV."


def parse(parser: str, path: str | os.PathLike, memory: int, seconds: float | None = None, **options: Any) -> Any:
    """Return what a parser of this package reads from a file, as an Arrow table.

    The process has five seconds of processor time and those that the file's size is worth, and six times that by the
    clock, whatever progress it makes. It is ended, with all that it started, when that is over, when this call is
    interrupted, and when this process ends, however it ends.

    Parameters
    ----------
    parser : str
        The full name of a module with a function ``parse``.
    path : path
        The file.
    memory : int
        Bytes that the process may use beyond what it has before it reads.
    seconds : float, optional
        Of processor time besides the first five; by default one for every MiB of the file.
    **options
        Plain values for the parser.

    Examples
    --------
    >>> from sumwise.io.sandbox import parse
    >>> parse("sumwise.io.parsers.statistical", "none.dta", 2**30, reader="read_dta", most_bytes=2**20)
    Traceback (most recent call last):
    sumwise.errors.DataError: 'none.dta' can't be read: ... Hint: is the file complete? Save it again, or as CSV.
    """
    shown = repr(os.fspath(path))
    if not sys.executable:
        raise DataError(
            f"{shown} is read in a process of its own, and this Python can't start one.", hint="save it as CSV."
        )
    size = os.path.getsize(path) if os.path.exists(path) else 0
    seconds = CPU_SECONDS + int(size // BYTES_PER_SECOND if seconds is None else seconds)
    asked = {"path": os.fspath(path), "options": options, "memory": int(memory), "seconds": seconds}
    asked |= {"wall": WALL_FACTOR * seconds, "parent": os.getpid()}
    code, out = _run([sys.executable, "-P", "-m", "sumwise.io.child", parser, json.dumps(asked)], asked["wall"])
    if code == 0:
        return _table(out, shown)
    if code == REFUSED:
        refusal = json.loads(out)
        kind = UnknownName if refusal["kind"] == UnknownName.__name__ else DataError
        raise kind(refusal["message"], hint=refusal["hint"] or DAMAGED_HINT)
    late = code == TIMED_OUT or code in (128 + getattr(signal, name, 0) for name in ("SIGXCPU", "SIGALRM"))
    what = (
        f"reading it took more than {seconds:,} s of processor time, or {WALL_FACTOR * seconds:,} s by the clock"
        if late
        else "it ended the program that reads it"
    )
    raise DataError(f"{shown} can't be read: {what}; it is probably damaged.", hint=DAMAGED_HINT)


def _run(command: list[str], seconds: float) -> tuple[int, bytes]:
    """The exit code and the output of a process that doesn't outlive this call."""
    place = {**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(p) for p in sys.path if p)}
    child = subprocess.Popen(  # noqa: S603  this Python, with arguments of ours and no shell
        command,
        env=place,
        stdin=subprocess.PIPE,  # closed by the system when this process ends, which the child notices
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert child.stdin is not None
    held, child.stdin = child.stdin, None  # `communicate` would close it
    try:
        out, _ = child.communicate(timeout=seconds + CPU_SECONDS)  # the child has a clock of its own
        return child.returncode, out
    except subprocess.TimeoutExpired:
        return TIMED_OUT, b""
    finally:
        _end(child)
        held.close()


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started."""
    if child.poll() is None:
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)  # it leads its group, and is not waited for yet
        else:
            child.kill()
        child.wait()
    if child.stdout is not None:
        child.stdout.close()


def _table(out: bytes, shown: str) -> Any:
    import pyarrow as pa

    try:
        table = pa.ipc.open_stream(out).read_all()
        table.validate(full=True)
    except pa.ArrowException as error:
        raise DataError(f"{shown} can't be read: {error}.", hint=DAMAGED_HINT) from error
    return table
