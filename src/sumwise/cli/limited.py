"""Work under a limit on memory: in a child, since compiled libraries end their process where Python would raise."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

DONE = b"."
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "ARROW_IO_THREADS")


def memory_is_limited() -> bool:
    """Whether the shell (``ulimit -v``) or a batch system limits this process's memory, on systems that can say so."""
    try:
        import resource
    except ImportError:  # Windows
        return False
    limits = (resource.getrlimit(limit)[0] for limit in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
    return any(limit != resource.RLIM_INFINITY for limit in limits)


def in_a_child(work: Callable[[], int]) -> int | None:
    """Run `work` in a child and return its exit code, or None where the child was ended from below Python.

    OpenMP, OpenBLAS, glibc and the C++ runtime abort, or crash, when memory runs out; the parent is left to say so.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    ended, end = os.pipe()
    child = os.fork()
    if child == 0:
        _run(work, end)
    os.close(end)
    # Ctrl-C reaches the child as well, which answers it.
    kept = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGQUIT)}
    kept[signal.SIGTERM] = signal.signal(signal.SIGTERM, lambda number, _: os.kill(child, number))
    try:
        said = os.read(ended, 1)
        status = os.waitpid(child, 0)[1]
    finally:
        os.close(ended)
        for number, handler in kept.items():
            signal.signal(number, handler)
    code = os.waitstatus_to_exitcode(status)
    return code if said == DONE or -code in (signal.SIGKILL, signal.SIGTERM) else None


def _run(work: Callable[[], int], end: int) -> None:
    """What the child does: work, say that Python reached the end of it, and exit.

    Libraries get one thread each, unless the user set a number: every thread reserves address space, and a library
    that can't start one of several may wait for it for ever.
    """
    for name in THREADS:
        os.environ.setdefault(name, "1")
    code = 1
    try:
        code = work()
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(end, DONE)
    finally:
        os._exit(code)
