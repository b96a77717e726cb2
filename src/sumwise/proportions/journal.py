"""Journal: evaluations of a likelihood, kept as they are made: a fit that was lost resumes to the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sumwise.checkpoint import Checkpoint

SECONDS = 10.0  # between two saves: evaluations that are lost are made again


class Journal:
    """What a deterministic optimiser asked for and was given, in order.

    An optimiser that is run again from the same start asks for the same points; what the journal holds is given back
    without an evaluation, and from there on evaluations are made. So a fit goes on after its process was lost, and ends
    with the same bits.

    Parameters
    ----------
    path : path, address or None
        None keeps nothing.
    key : str
        What the computation depends on.
    n_parts : int
        How many parts sums are made of: their order of addition decides the last bits. One that was kept wins.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from sumwise.proportions.journal import Journal
    >>> path = os.path.join(tempfile.mkdtemp(), "fit.checkpoint")
    >>> journal = Journal(path, "key", 2, seconds=0.0)
    >>> journal.evaluated("square", np.array([3.0]), lambda x: [x**2])
    [array([9.])]
    >>> Journal(path, "key", 8).evaluated("square", np.array([3.0]), lambda x: [x * 0])
    [array([9.])]
    """

    def __init__(self, path: Any, key: str | None, n_parts: int, seconds: float = SECONDS) -> None:
        self.checkpoint = Checkpoint(path, key=key, seconds=seconds)
        held = self.checkpoint.load() or {"n_parts": n_parts, "asked": [], "answers": []}
        self.n_parts = int(held["n_parts"])
        self.asked, self.answers = list(held["asked"]), list(held["answers"])
        self.place = 0

    def evaluated(self, method: str, theta: np.ndarray, evaluate: Callable[[np.ndarray], list]) -> list[np.ndarray]:
        """The arrays that `evaluate` gives at `theta`: those that were kept, or new ones."""
        here, self.place = self.place, self.place + 1
        if here < len(self.asked):
            known, point = self.asked[here]
            if known == method and np.array_equal(point, theta):
                return self.answers[here]
            del self.asked[here:], self.answers[here:]  # another way was taken: what follows doesn't belong to it
        answer = [np.asarray(a) for a in evaluate(theta)]
        if self.checkpoint.path is not None:
            self.asked.append([method, np.array(theta)])
            self.answers.append(answer)
            if self.checkpoint.due(self.place):
                self.save()
        return answer

    def save(self) -> None:
        """Keep all evaluations so far."""
        self.checkpoint.save({"n_parts": self.n_parts, "asked": self.asked, "answers": self.answers})
