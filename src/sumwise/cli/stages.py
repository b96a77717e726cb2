"""Stages of a long command on standard error: each by name, and how long it has been running."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

from sumwise.progress import active

FIRST, BETWEEN = 2.0, 10.0  # seconds after which a stage says how long it has run, first and again


def _print(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _left() -> str:
    """What a step that counts says about its end; nothing where none is under way."""
    for work in list(active):
        seconds = work.seconds_left()
        if seconds is not None:
            what = work.label.lower() if work.label[1:].islower() else "steps"  # MaxEntClassifier is no noun to count
            return f", {what} {work.done:,} of at most {work.total:,}, about {seconds:.0f} s left"
    return ""


class Stages:
    """Call it with the name of each stage; it writes the name, and the elapsed time of stages that take long.

    Use it as a context manager: the last stage ends with it.

    Parameters
    ----------
    quiet : bool
        Write nothing.
    write : callable, optional
        Takes a line. Default: standard error.
    first, between : float
        Seconds until a stage says how long it has run, and between later lines.
    """

    def __init__(
        self,
        quiet: bool = False,
        write: Callable[[str], None] = _print,
        first: float = FIRST,
        between: float = BETWEEN,
    ):
        self.quiet, self.write = quiet, write
        self.first, self.between = first, between
        self._ended = threading.Event()
        self._watch: threading.Thread | None = None

    def __enter__(self) -> Stages:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def __call__(self, name: str) -> None:
        self._end()
        if self.quiet:
            return
        self.write(name)
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._report, args=(name, self._ended), daemon=True)
        self._watch.start()

    def _end(self) -> None:
        if self._watch is not None:
            self._ended.set()
            self._watch.join()
            self._watch = None

    def _report(self, name: str, ended: threading.Event) -> None:
        begin, wait = time.monotonic(), self.first
        while not ended.wait(wait):
            self.write(f"{name}: {time.monotonic() - begin:.0f} s so far{_left()}")
            wait = self.between
