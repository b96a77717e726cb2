"""Progress of long work: a bar on a terminal, plain lines elsewhere, nothing by default."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import Any, TextIO, TypeVar

from sumwise.errors import DataError

__all__ = ["Progress", "track"]

SECONDS_BETWEEN_LINES = 5.0
"""Plain lines come at most this often, and once more at the end."""

T = TypeVar("T")
active: list[Progress] = []
"""What is running now, the outermost first; the app reads the remaining time from it."""


def track(iterable: Iterable[T], label: str, total: int | None = None, verbose: int = 0) -> Iterator[T]:
    """Yield the items of an iterable and show the progress.

    Parameters
    ----------
    iterable : iterable
        The items.
    label : str
        What is being done, e.g. ``"EM"``.
    total : int, optional
        How many items there are; by default the length of the iterable, if it has one.
    verbose : int, default 0
        0 shows nothing; 1 a bar on a terminal and plain lines elsewhere; 2 a line for every item.

    Yields
    ------
    item
        The items of ``iterable``, unchanged.

    Examples
    --------
    >>> from sumwise.progress import track
    >>> sum(track([1, 2, 3], "Adding"))
    6
    """
    if not isinstance(iterable, Iterable):
        raise DataError(f"{label}: can't iterate over a {type(iterable).__name__}.", hint="give a list.")
    if total is None and isinstance(iterable, Sized):
        total = len(iterable)
    with Progress(label, total, verbose) as progress:
        for item in iterable:
            yield item
            progress.step()


class Progress:
    """Show the progress of a piece of work, with values such as its loss.

    Use it as a context manager. On a terminal it draws a bar; elsewhere it writes plain lines to standard
    error, at most one every five seconds, and a last one. Within another bar it draws its own below. An error
    or an interruption passes through; the terminal is left clean and the last line says where it stopped.

    Parameters
    ----------
    label : str
        What is being done.
    total : int, optional
        How many steps there will be at most; without it only the steps done are shown.
    verbose : int, default 0
        0 shows nothing; 1 a bar on a terminal and plain lines elsewhere; 2 a line for every step.
    stream : text stream, optional
        Where to write; by default standard error.

    Examples
    --------
    >>> from sumwise.progress import Progress
    >>> with Progress("EM", total=3) as progress:
    ...     for loss in (0.5, 0.2, 0.1):
    ...         progress.step(loss=loss)
    >>> progress.done
    3
    """

    def __init__(self, label: str, total: int | None = None, verbose: int = 0, stream: TextIO | None = None):
        self.label = label
        self.total = total
        if verbose is not None and not hasattr(verbose, "__index__"):
            raise DataError(f"verbose is {verbose!r}.", hint="give 0 (nothing), 1 (a bar or lines) or 2 (every item).")
        self.verbose = verbose
        self.stream = stream
        self.done = 0
        self.values: dict[str, Any] = {}
        self._view: _Bar | _Lines | None = None
        self._start = time.monotonic()

    def __enter__(self) -> Progress:
        self._start = time.monotonic()
        active.append(self)
        if self.verbose:
            stream = sys.stderr if self.stream is None else self.stream
            bar = self.verbose == 1 and stream.isatty()
            self._view = _Bar(self, stream) if bar else _Lines(self, stream)
        return self

    def step(self, n: int = 1, **values: Any) -> None:
        """Count ``n`` more steps; the values (``loss=0.3``) are shown next to the count."""
        self.done += n
        self.values.update(values)
        if self._view is not None:
            self._view.step()

    def seconds_left(self) -> float | None:
        """How long the remaining steps take at the pace so far; None before the first step or without a total."""
        if not self.total or not 0 < self.done <= self.total:
            return None
        return (time.monotonic() - self._start) * (self.total - self.done) / self.done

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self in active:
            active.remove(self)
        view, self._view = self._view, None
        if view is not None:
            view.close("done" if kind is None else ("left early" if issubclass(kind, GeneratorExit) else "stopped"))

    def shown_values(self) -> str:
        return ", ".join(f"{name} {_shown(value)}" for name, value in self.values.items())


class _Lines:
    """Plain lines: the first step, then one every few seconds, then the last."""

    def __init__(self, progress: Progress, stream: TextIO):
        self.progress = progress
        self.stream = stream
        self.start = self.last = time.monotonic()

    def step(self) -> None:
        now = time.monotonic()
        if self.progress.verbose > 1 or now - self.last >= SECONDS_BETWEEN_LINES:
            self.last = now
            self._write("")

    def close(self, end: str) -> None:
        self._write(f", {end}")

    def _write(self, end: str) -> None:
        p = self.progress
        count = f"{p.done}" if p.total is None else f"{p.done}/{p.total}"
        values = f", {p.shown_values()}" if p.values else ""
        self.stream.write(f"{p.label}: {count}{values}, {time.monotonic() - self.start:.1f} s{end}\n")
        self.stream.flush()


class _Bar:
    """One task of a rich display; bars that run within each other share the display of the outermost."""

    display: Any = None  # the display that is on the screen now, if any
    users = 0

    def __init__(self, progress: Progress, stream: TextIO):
        self.progress = progress
        if _Bar.display is None:
            _Bar.display = _new_display(stream)
            _Bar.display.start()
        _Bar.users += 1
        self.task = _Bar.display.add_task(progress.label, total=progress.total, values="")

    def step(self) -> None:
        p = self.progress
        _Bar.display.update(self.task, completed=p.done, values=p.shown_values())

    def close(self, end: str) -> None:
        p = self.progress
        if end == "done" and p.total != p.done:  # done before its time: the bar is full all the same
            _Bar.display.update(self.task, total=p.done or 1, completed=p.done or 1)
        _Bar.display.update(self.task, values=", ".join(filter(None, [p.shown_values(), end])))
        _Bar.users -= 1
        if _Bar.users == 0:
            display, _Bar.display = _Bar.display, None
            display.stop()
        elif end == "done":
            _Bar.display.remove_task(self.task)


def _new_display(stream: TextIO) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Display

    columns = [
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[values]}", markup=False),
    ]
    return Display(*columns, console=Console(file=stream), refresh_per_second=5)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
