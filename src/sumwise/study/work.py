"""Work: the steps of a run, each kept when it is done, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sumwise.checkpoint import Checkpoint

__all__ = ["Work", "told_once"]


class Work:
    """Do steps once: what a step returned is kept in a folder, with what it warned of.

    Parameters
    ----------
    folder : path, optional
        Where steps are kept; without it nothing is.
    key : str, optional
        Of the problem and its data: steps of another problem are refused.
    say : callable, optional
        Told what is being done.

    Examples
    --------
    >>> import tempfile
    >>> from sumwise.study.work import Work
    >>> folder = tempfile.mkdtemp()
    >>> Work(folder, "k").step("add", lambda: 1 + 1)
    2
    >>> Work(folder, "k").step("add", lambda: 1 / 0)  # kept
    2
    """

    def __init__(self, folder: Any = None, key: str | None = None, say: Callable[[str], None] | None = None):
        self.folder = None if folder is None else Path(folder)
        self.key = key
        self.say = say or (lambda line: None)
        self.warnings: list[str] = []
        self.kept: list[str] = []

    def path(self, name: str) -> Path | None:
        """Where a step may keep a state of its own."""
        return None if self.folder is None else self.folder / f"{_slug(name)}.state"

    def step(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return what `compute` returns, or what it returned in the run before."""
        kept = Checkpoint(None if self.folder is None else self.folder / f"{_slug(name)}.step", self.key)
        state = kept.load()
        if state is None:
            self.say(name)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                value = compute()
            state = {"value": value, "warnings": list(dict.fromkeys(_told(w) for w in caught if _ours(w)))}
            kept.save(state)
        else:
            self.kept.append(name)
            self.say(f"{name}: done before")
        self.warnings += [f"{name}: {told}" for told in state["warnings"]]
        return state["value"]


@contextmanager
def told_once() -> Iterator[None]:
    """Tell warnings of a kind once, with their number: those of many fits that differ in their figures alone.

    Examples
    --------
    >>> import warnings
    >>> from sumwise.study.work import told_once
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     with told_once():
    ...         for left in (0.2, 0.1):
    ...             warnings.warn(f"stopped with {left} left")
    >>> [str(w.message) for w in caught]
    ['stopped with 0.2 left (and 1 more like it)']
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    kinds: dict[type[Warning], list[str]] = {}
    for warning in filter(_ours, caught):
        kinds.setdefault(warning.category, []).append(_told(warning))
    for kind, texts in kinds.items():
        more = f" (and {len(texts) - 1} more like it)" if len(texts) > 1 else ""
        warnings.warn(texts[0] + more, kind, stacklevel=3)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _told(caught: warnings.WarningMessage) -> str:
    return " ".join(str(caught.message).split())


def _ours(caught: warnings.WarningMessage) -> bool:
    return issubclass(caught.category, UserWarning)  # not deprecations of libraries
