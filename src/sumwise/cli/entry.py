"""The way in and out: run the application, turn what went wrong into one line and an exit code.

Under a limit on memory a child does the work, since compiled libraries end their process where Python would raise.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence

import typer

from sumwise.cli import output
from sumwise.errors import DataError, SumwiseError

DEFECT, BAD_INPUT, INTERRUPTED, CLOSED_PIPE = 1, 2, 130, 141
MEMORY_HINT = "close other programs, give fewer rows or columns, or use a machine with more memory."

SPACE_HINT = "free some space, or name a folder on another disk; no result is left half-written."
SYSTEM_HINTS = {
    errno.ENOSPC: SPACE_HINT,
    errno.EDQUOT: SPACE_HINT,
    errno.EROFS: "name a folder that you may write to.",
    errno.EACCES: "ask for access to it, or name a file or folder that you may use.",
}

DONE = b"."
WITHOUT_MEMORY = "can't start new thread", "can't allocate memory", "not enough memory"  # Python; torch
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "ARROW_IO_THREADS")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows ``sumwise``; by default what the shell gave.

    Returns
    -------
    int
        The exit code: 0 done, 1 a defect in sumwise, 2 bad input or command, 130 interrupted.

    Examples
    --------
    >>> from sumwise.cli import main
    >>> main(["--version"])  # doctest: +ELLIPSIS
    sumwise ...
    0
    """
    arguments, debug = without_debug(sys.argv[1:] if arguments is None else arguments)
    if not memory_is_limited():
        return answer(arguments, debug)
    code = in_a_child(lambda: answer(arguments, debug))
    return explain(MemoryError()) if code is None else code


def answer(arguments: Sequence[str], debug: bool) -> int:
    """Run the application; say in one line what went wrong, if anything did."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: output.warn(message)
            warnings.filterwarnings("ignore", ".*joblib will operate in serial mode")  # where no file can be written
            return run(arguments)
    except BaseException as error:
        if debug and not isinstance(error, SystemExit):
            traceback.print_exception(error)
        return explain(error)


def run(arguments: Sequence[str]) -> int:
    """Run the application and give back its exit code; errors pass through."""
    from sumwise.cli.app import application

    try:
        code = application().main(list(arguments), prog_name="sumwise", standalone_mode=False)
    except Exception as error:
        if hasattr(error, "format_message") and (name := file_like_an_option(arguments)):
            said = f"{name!r} begins with a dash and is read as an option."
            raise DataError(said, hint=f"write ./{name}.") from error
        raise
    sys.stdout.flush()  # a closed pipe shows here, where it can be answered
    if code == INTERRUPTED:  # Typer's newer releases answer Ctrl-C themselves, without a word
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def without_debug(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """The arguments without ``--debug``, which may stand before or after the command, and whether it was there."""
    end = list(arguments).index("--") if "--" in arguments else len(arguments)
    kept = [argument for argument in arguments[:end] if argument != "--debug"]
    return [*kept, *arguments[end:]], len(kept) < end


def file_like_an_option(arguments: Sequence[str]) -> str | None:
    """The first file whose name would have to be an option, such as ``-1e5.csv``; None without one."""
    end = list(arguments).index("--") if "--" in arguments else len(arguments)
    return next((a for a in arguments[:end] if a.startswith("-") and os.path.lexists(a)), None)


def explain(error: BaseException) -> int:
    """Say in one line what went wrong, and give back the exit code for it."""
    if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing more to flush at exit
        return CLOSED_PIPE
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else BAD_INPUT
    line, code = line_and_code(error)
    output.complain(line)
    return code


def line_and_code(error: BaseException) -> tuple[str, int]:
    """What to say about an error, and its exit code."""
    if isinstance(error, typer.Abort) or interrupted(error):
        return "Interrupted.", INTERRUPTED
    if isinstance(error, SumwiseError):
        return str(error), BAD_INPUT
    if hasattr(error, "format_message"):  # what Typer finds wrong with the command itself
        return usage(error), BAD_INPUT
    if out_of_memory(error):
        return f"There is not enough memory for this{_amount(error)}. Hint: {MEMORY_HINT}", BAD_INPUT
    if isinstance(error, OSError):
        return _of_the_system(error), BAD_INPUT
    hint = "this is a defect in sumwise; run again with --debug to see where, and report it."
    return f"{type(error).__name__}: {error} Hint: {hint}", DEFECT


def interrupted(error: BaseException) -> bool:
    """Whether Ctrl-C ended the work; compiled code turns it into a SystemError."""
    return isinstance(error, KeyboardInterrupt) or (
        isinstance(error, SystemError) and isinstance(error.__cause__ or error.__context__, KeyboardInterrupt)
    )


def out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out, in Python, NumPy, Arrow, DuckDB or torch; compiled code may wrap it."""
    chain: list[BaseException] = []
    here: BaseException | None = error
    while here is not None and here not in chain:
        chain.append(here)
        here = here.__cause__ or here.__context__
    return any(
        isinstance(e, MemoryError)
        or type(e).__name__ in ("OutOfMemoryError", "OutOfMemoryException")
        or (isinstance(e, OSError) and e.errno == errno.ENOMEM)
        or (isinstance(e, RuntimeError) and any(words in str(e) for words in WITHOUT_MEMORY))
        or (isinstance(e, ImportError) and "failed to map segment" in str(e))
        for e in chain
    )


def _of_the_system(error: OSError) -> str:
    """What the system refused, where, and what to do about it where that is known."""
    said = str(error.strerror or error)
    place = f": {error.filename}" if error.filename and error.strerror else ""
    hint = SYSTEM_HINTS.get(error.errno or 0)
    return f"{said}{place}. Hint: {hint}" if hint else f"{said}{place}"


def _amount(error: BaseException) -> str:
    """How much was asked for, where NumPy says so."""
    found = re.search(r"Unable to allocate ([\d.]+ [KMGTPE]iB)", str(error))
    return f": {found[1]} more were asked for" if found else ""


def usage(error) -> str:
    """What is wrong with the command, and where its help is."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "sumwise"
    said = error.format_message().rstrip(".")  # a question that Typer asks ("Did you mean 'fit'?") keeps its mark
    return f"{said}{'' if said.endswith('?') else '.'} Hint: see {path} --help."


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
