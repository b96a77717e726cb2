"""CachedSteps: the steps of a run, each kept when it is done, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sumwise.checkpoint import Checkpoint
from sumwise.grouped_warnings import is_ours, one_line


class CachedSteps:
    """Do steps once: what a step returned is kept in a folder, with what it warned of.

    Parameters
    ----------
    folder : path, optional
        Where steps are kept; without it nothing is.
    key : str, optional
        Identifies the problem and its data: steps of another problem are refused.
    say : callable, optional
        Called with what is being done.

    Examples
    --------
    >>> import tempfile
    >>> from sumwise.study.cached_steps import CachedSteps
    >>> folder = tempfile.mkdtemp()
    >>> CachedSteps(folder, "k").step("add", lambda: 1 + 1)
    2
    >>> CachedSteps(folder, "k").step("add", lambda: 1 / 0)  # kept
    2
    """

    def __init__(self, folder: Any = None, key: str | None = None, say: Callable[[str], None] | None = None):
        self.folder = None if folder is None else Path(folder)
        self.key = key
        self.say = say or (lambda _: None)
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
            state = {"value": value, "warnings": list(dict.fromkeys(one_line(w) for w in caught if is_ours(w)))}
            kept.save(state)
        else:
            self.kept.append(name)
            self.say(f"{name}: done before")
        self.warnings += [f"{name}: {words}" for words in state["warnings"]]
        return state["value"]


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
