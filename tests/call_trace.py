"""Count the functions and files of sumwise that a call passes through."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import sumwise

SOURCE = str(Path(sumwise.__file__).parent)  # the installed package has no src
NOT_A_STEP = ("<module>", "<lambda>", "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>")


@dataclass(frozen=True)
class Trace:
    """What a call passed through: functions as (file, name), and the depth of the deepest."""

    functions: frozenset[tuple[str, str]]
    depth: int

    @property
    def files(self) -> frozenset[str]:
        """The files of the functions."""
        return frozenset(file for file, _ in self.functions)


def trace(call: Callable[[], Any], without: tuple[str, ...] = ()) -> Trace:
    """Run a call and return the functions of sumwise that it entered; `without` leaves folders or files out."""
    seen: set[tuple[str, str]] = set()
    depth = deepest = 0

    def profile(frame: FrameType, event: str, _: Any) -> None:
        nonlocal depth, deepest
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(SOURCE) or code.co_name in NOT_A_STEP:
            return
        if not code.co_flags & inspect.CO_OPTIMIZED:  # the body of a class, run when its module is first imported
            return
        file = code.co_filename[len(SOURCE) + 1 :]
        if file.startswith(without):
            return
        depth += 1 if event == "call" else -1
        deepest = max(deepest, depth)
        seen.add((file, code.co_qualname))

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Trace(frozenset(seen), deepest)
