"""The process that parses a file: ``python -m sumwise.io.child PARSER JSON``, started by `run.parse`.

Where the system can fork, the process parses in a child of its own and watches over it: a library in an endless loop
may hold Python's lock, so that no thread and no handler of a signal runs in its process.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import signal
import sys
import threading
from typing import Any

REFUSED, TIMED_OUT = 3, 124  # exit codes: an error in JSON is on standard output; the time is over
POOL = "ARROW_DEFAULT_MEMORY_POOL"
PARENT_DEATH = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>


def main(arguments: list[str]) -> int:
    """Parse a file, and write its Arrow table, or an error in JSON, to standard output."""
    parser, asked = arguments[0], json.loads(arguments[1])
    os.environ[POOL] = "system"  # Arrow's own reserves a gigabyte of addresses: it may be all that there is
    end_with_parent(asked["parent"])
    if hasattr(os, "fork"):
        watch(asked["wall"])
    else:
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(TIMED_OUT)), daemon=True).start()
    limit(asked["memory"], asked["seconds"])
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    code, content = answered(parser, asked["path"], asked["options"])
    with answer:
        answer.write(content)
    return code


def answered(parser: str, path: str, options: dict[str, Any]) -> tuple[int, bytes]:
    """The exit code and the output for a file."""
    import pyarrow as pa

    from sumwise.errors import DataError

    kind = DataError.__name__
    try:
        table = importlib.import_module(parser).parse(path, **options)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return 0, sink.getvalue().to_pybytes()
    except DataError as error:
        message, hint, kind = error.message, error.hint or "", type(error).__name__
    except MemoryError:
        message, hint = f"{path!r} takes more memory to read than a file of its size should.", ""
    except Exception as error:  # what libraries say of damaged bytes is of many kinds
        message, hint = f"{path!r} can't be read: {' '.join(str(error).split()).rstrip('.')}.", ""
    return REFUSED, json.dumps({"message": message, "hint": hint, "kind": kind}).encode()


def end_with_parent(parent: int) -> None:
    """Have the system end this process when the one that started it ends (Linux)."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError, ImportError):
            import ctypes

            ctypes.CDLL(None, use_errno=True).prctl(PARENT_DEATH, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before that
            os._exit(TIMED_OUT)


def watch(seconds: float) -> None:
    """Fork: return in the child, which is ended after so many seconds or when standard input is closed."""
    ended, end = os.pipe()
    own, worker = os.getpid(), os.fork()
    if worker == 0:
        os.close(ended)
        end_with_parent(own)
        return
    os.close(end)
    ready, _, _ = select.select([0, ended], [], [], seconds)
    if ended not in ready:
        os.kill(worker, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
    os._exit(TIMED_OUT if ended not in ready else 128 - code if code < 0 else code)


def limit(memory: int, seconds: int) -> None:
    """Limit this process's memory, processor time and dumps, where the system can."""
    try:
        import resource
    except ImportError:  # Windows: time by the clock alone
        return
    _lower(resource, resource.RLIMIT_CORE, 0)
    _lower(resource, resource.RLIMIT_CPU, seconds)
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/self/statm", encoding="ascii") as pages:
        loaded = int(pages.read().split()[0]) * resource.getpagesize()
        _lower(resource, resource.RLIMIT_AS, loaded + memory)


def _lower(resource: Any, kind: int, most: int) -> None:
    """Set a limit, unless a lower one is set; the hard one stays, for there the system kills without a reason."""
    with contextlib.suppress(OSError, ValueError):
        soft, hard = resource.getrlimit(kind)
        if soft == resource.RLIM_INFINITY or soft > most:
            resource.setrlimit(kind, (most, hard))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
