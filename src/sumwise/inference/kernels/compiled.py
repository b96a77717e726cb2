"""Numba's ``njit`` for every kernel: compiled code is kept where something can be written, and a wait is announced."""

from __future__ import annotations

import logging
import os
import pickle
import time
from collections.abc import Callable
from typing import Any, NoReturn

import numba
from numba.core import event
from numba.extending import overload
from numba.np import arrayobj

from sumwise.inference.kernels.private_folder import private_folder

__all__ = ["njit"]

SHAPES = "raise_with_shape_context"  # Numba's hook for the error of unequal shapes
SILENT_SECONDS = 0.3  # seconds of compiling that need no word
COMPILED_ONCE = "sumwise compiles its kernels for the first time here; this takes a few seconds, once."
COMPILED_ELSEWHERE = (
    "sumwise compiles its kernels, which takes a few seconds, and keeps them in {!r}: neither its own folder nor the "
    "home folder can be written. Set NUMBA_CACHE_DIR to keep them elsewhere."
)
COMPILED_EACH_TIME = (
    "sumwise compiles its kernels, which takes a few seconds in every session: no folder can be written to keep them. "
    "Set NUMBA_CACHE_DIR to one that can."
)


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function when it is first called, as Numba's ``njit`` does.

    ``cache=True`` keeps the compiled code beside the source or in the home folder; where neither can be written, in a
    temporary folder of the user's own; and where there is none, it is compiled in every session.

    Examples
    --------
    >>> from sumwise.inference.kernels.compiled import njit
    >>> @njit(cache=False)
    ... def twice(x):
    ...     return 2 * x
    >>> twice(3)
    6
    """

    def compiled(function: Callable[..., Any]) -> Any:
        kept = dict(options)
        if kept.get("cache") and not _notice.can_keep:
            kept["cache"] = False
        kept.setdefault("no_cfunc_wrapper", True)  # nobody takes a kernel's address; it costs a twentieth of the time
        return _forgetting(numba.njit(**kept)(function))

    return compiled


def _forgetting(kernel: Callable[..., Any]) -> Any:
    """The kernel, compiled anew where what an earlier version of sumwise kept of it can't be read.

    Numba reads the types of arguments before it sees that the source has changed, and fails where a record was renamed.
    """
    index = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
    if (load := getattr(index, "_load_index", None)) is not None:

        def loaded() -> dict[Any, str]:
            try:
                return load()
            except (AttributeError, ImportError, EOFError, pickle.UnpicklingError):
                return {}

        setattr(index, "_load_index", loaded)  # noqa: B010 (it is Numba's own)
    return kernel


def _unequal(_src_shapes: tuple[int, ...], _index_shape: tuple[int, ...]) -> NoReturn:
    """Raise the error of ``x[:] = y`` for unequal shapes; stands in for Numba's, see `_Notice`."""
    raise NotImplementedError


@overload(_unequal)
def _unequal_compiled(_src_shapes: tuple[int, ...], _index_shape: tuple[int, ...]) -> Any:
    def impl(_src_shapes: tuple[int, ...], _index_shape: tuple[int, ...]) -> NoReturn:
        raise ValueError("cannot assign slice from input of different size")

    return impl


class _Notice(event.Listener):
    """Say once per session that kernels are being compiled, where that takes longer than a moment.

    While a kernel of sumwise compiles, the error of ``x[:] = y`` for unequal shapes doesn't name the shapes: the code
    that would write them down takes two to five seconds to compile, a third of a first fit.
    """

    def __init__(self, text: str, can_keep: bool) -> None:
        self.text, self.can_keep = text, can_keep
        self.given, self.spent, self.depth, self.began = False, 0.0, 0, 0.0
        self.theirs: Any = None

    def on_start(self, event: event.Event) -> None:
        now = time.perf_counter()
        if self.depth == 0:
            self.began = now
            self._quick_errors(event)
        self.depth += 1
        if not self.given and self.spent + now - self.began > SILENT_SECONDS:
            self.given = True
            logging.getLogger("sumwise").warning(self.text)

    def on_end(self, event: event.Event) -> None:
        del event
        self.depth -= 1
        if self.depth == 0:
            self.spent += time.perf_counter() - self.began
            if self.theirs is not None:
                arrayobj.raise_with_shape_context, self.theirs = self.theirs, None

    def _quick_errors(self, event: event.Event | None) -> None:
        function = event.data["dispatcher"].py_func if event is not None and event.data else None
        if getattr(function, "__module__", "").startswith("sumwise.") and hasattr(arrayobj, SHAPES):
            self.theirs = arrayobj.raise_with_shape_context
            arrayobj.raise_with_shape_context = _unequal


def _writable() -> bool:
    """Whether Numba finds a folder for what is compiled here."""
    try:
        numba.njit(cache=True)(_probe)
    except (RuntimeError, OSError):
        return False
    return True


def _probe(x: float) -> float:
    return x


def _prepared() -> _Notice:
    """Find a folder for compiled code, and listen for compilations."""
    if _writable():
        return _Notice(COMPILED_ONCE, True)
    folder = private_folder("kernels")
    if folder is not None:
        os.environ["NUMBA_CACHE_DIR"] = folder  # also for processes that this one starts
        numba.config.reload_config()  # type: ignore[attr-defined]
        if _writable():
            return _Notice(COMPILED_ELSEWHERE.format(folder), True)
    return _Notice(COMPILED_EACH_TIME, False)


_notice = _prepared()
event.register("numba:compile", _notice)
