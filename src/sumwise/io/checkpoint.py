"""Resumable work: the state of a long computation, saved as it goes, refused for any other one."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.errors import DataError, is_ours, one_line
from sumwise.io.persistence import decoded, encoded
from sumwise.io.remote import RemoteFile, is_remote
from sumwise.io.saved import archive

__all__ = ["Checkpoint", "fingerprint"]


class Checkpoint:
    """The saved state of a long computation, from which it resumes after an interruption.

    Each save replaces the file in one step, so that a process killed at any moment leaves the last whole
    state. A state holds whatever :func:`sumwise.save` can save, random generators included.

    Parameters
    ----------
    path : path or None
        The file, or an address such as ``"s3://bucket/run.checkpoint"`` (extra ``remote``). None makes a checkpoint
        that keeps nothing: it is never due, and has no state to load.
    key : str or object, optional
        What the computation depends on (data, parameters): a :func:`fingerprint`, or an object to take it of.
        A state that was saved under another key is refused.
    every : int, default 1
        Save after this many steps.
    seconds : float, default 0
        And no sooner than this long after the last save; worth setting where a step is quick.

    Examples
    --------
    A sum that resumes where it was stopped:

    >>> import os, tempfile
    >>> from sumwise.io.checkpoint import Checkpoint, fingerprint
    >>> path = os.path.join(tempfile.mkdtemp(), "sum.checkpoint")
    >>> def total(numbers, stop=None):
    ...     checkpoint = Checkpoint(path, key=fingerprint(numbers), every=2)
    ...     state = checkpoint.load() or {"step": 0, "total": 0}
    ...     for step in range(state["step"], len(numbers)):
    ...         if step == stop:
    ...             raise KeyboardInterrupt
    ...         state = {"step": step + 1, "total": state["total"] + numbers[step]}
    ...         if checkpoint.due(step + 1):
    ...             checkpoint.save(state)
    ...     checkpoint.clear()
    ...     return state["total"]
    >>> try:
    ...     total([1, 2, 3, 4], stop=3)
    ... except KeyboardInterrupt:
    ...     print(Checkpoint(path, key=fingerprint([1, 2, 3, 4])).load())
    {'step': 2, 'total': 3}
    >>> total([1, 2, 3, 4])
    10
    """

    def __init__(self, path: str | os.PathLike | None, key: Any = None, every: int = 1, seconds: float = 0.0) -> None:
        checks.at_least(every, "every", 1)
        checks.at_least(seconds, "seconds", 0, whole_number=False)
        if not isinstance(path, str | os.PathLike | None):
            raise DataError(f"path is {path!r}.", hint="give the name of a file, or None to keep nothing.")
        self.path: Path | RemoteFile | None = None
        if path is not None:
            self.path = RemoteFile(str(path)) if is_remote(path) else Path(path)
        self.key = key if key is None or isinstance(key, str) else fingerprint(key)
        self.every = int(every)
        self.seconds = float(seconds)
        self._saved_at = time.monotonic()

    def __repr__(self) -> str:
        return f"Checkpoint({None if self.path is None else str(self.path)!r}, every={self.every})"

    def due(self, step: int) -> bool:
        """Tell whether to save now that ``step`` steps are done."""
        checks.at_least(step, "step", 0)
        if self.path is None or step % self.every:
            return False
        return time.monotonic() - self._saved_at >= self.seconds

    def save(self, state: dict[str, Any]) -> None:
        """Replace the saved state."""
        if not isinstance(state, dict):
            raise DataError(f"A state is a dict; this is of type {type(state).__name__}.")
        if self.path is None:
            return
        tree, arrays = encoded({"key": self.key, "state": state}, "checkpoint")
        if isinstance(self.path, RemoteFile):
            with self.path.replaced() as local:
                archive.write(local, "checkpoint", tree, arrays)
        else:
            archive.write(self.path, "checkpoint", tree, arrays)
        self._saved_at = time.monotonic()

    def load(self) -> dict[str, Any] | None:
        """Load the last state; None where there is none, an error where it is of another computation."""
        if self.path is None or not self.path.exists():
            return None
        held = self._read()
        if not isinstance(held, dict) or set(held) != {"key", "state"} or not isinstance(held["state"], dict):
            raise DataError(f"{str(self.path)!r} contains no state.", hint="remove it and start again.")
        if held["key"] != self.key:
            raise DataError(
                f"The checkpoint {str(self.path)!r} was written for other data or parameters "
                f"(key {_shown(held['key'])}, here {_shown(self.key)}).",
                hint="remove it to start again, or keep another file for this computation.",
            )
        return held["state"]

    def _read(self) -> Any:
        if self.path is None:
            return None
        if not isinstance(self.path, RemoteFile):
            return archive.read(self.path, "checkpoint", decoded)
        with self.path.fetched() as local:
            try:
                return archive.read(local, "checkpoint", decoded)
            except DataError as error:
                raise DataError(f"{str(self.path)!r}: {error.message}", hint=error.hint) from None

    def clear(self) -> None:
        """Remove the file, once the work is done; no error where there is none."""
        if isinstance(self.path, RemoteFile):
            self.path.remove()
            return
        if self.path is not None and self.path.is_dir():
            raise DataError(f"{str(self.path)!r} is a folder.", hint="give the name of a file in it.")
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def fingerprint(*objects: Any) -> str:
    """Return a hash of values: equal values give the same one, on any machine and in any run.

    Parameters
    ----------
    *objects
        Containers, estimators, arrays, frames, parameters: what :func:`sumwise.save` can save. The order in
        which a dict holds its keys and the memory order of an array don't count; types and dtypes do.

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.io.checkpoint import fingerprint
    >>> fingerprint(np.arange(3), {"a": 1, "b": 2}) == fingerprint(np.arange(3), {"b": 2, "a": 1})
    True
    >>> fingerprint(np.arange(3)) == fingerprint(np.arange(3.0))
    False
    """
    tree, arrays = encoded(list(objects), "fingerprint", layout=False)
    digest = hashlib.sha256(json.dumps(tree, separators=(",", ":")).encode("ascii"))
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.nbytes else b"")
    return digest.hexdigest()


def _shown(key: Any) -> str:
    return "none" if key is None else f"{str(key)[:8]}..."


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
    >>> from sumwise.io.checkpoint import CachedSteps
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

    def path(self, name: str, ending: str = "state") -> Path | None:
        """Where a step may keep a state of its own; letters of any script stay, so that steps have different files."""
        slug = re.sub(r"[\W_]+", "-", name.lower()).strip("-")
        return None if self.folder is None else self.folder / f"{slug}.{ending}"

    def step(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return what `compute` returns, or what it returned in the run before."""
        kept = Checkpoint(self.path(name, "step"), self.key)
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
