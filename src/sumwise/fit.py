"""Fit: what a solver returns, with its own evidence."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sumwise import checks
from sumwise.display import facts_text
from sumwise.errors import DataError, NotConverged

__all__ = ["Fit", "warn_not_converged"]


@dataclass(frozen=True, repr=False)
class Fit:
    """The answer of an iterative fit, and how it was reached.

    Parameters
    ----------
    answer : object, optional
        What was sought (parameters, counts).
    objective : float
        Its value at the answer.
    gap : float, optional
        A proven bound on how far the objective is from the best possible one, where the method has one.
    n_iter : int
        Steps taken.
    converged : bool
        Whether the tolerance was met.
    history : mapping of name to sequence
        The course of the objective and whatever else the method records, one entry per step.

    See Also
    --------
    NotConverged : The warning about a fit that stopped early.

    Examples
    --------
    >>> from sumwise.fit import Fit
    >>> Fit(objective=-3.5, n_iter=12, converged=True, history={"objective": [-3.0, -3.5]})
    Fit(objective=-3.5, gap=None, n_iter=12, converged=True)
    """

    answer: Any = None
    objective: float = float("nan")
    gap: float | None = None
    n_iter: int = 0
    converged: bool = False
    history: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        history = checks.mapping(self.history, "history")
        for name, values in history.items():
            checks.listing(values, f"history[{name!r}]", "give one entry per step.")
        lengths = {name: len(values) for name, values in self.history.items()}
        if len(set(lengths.values())) > 1:
            raise DataError(f"The history has entries of different lengths: {lengths}.")

    def describe(self) -> dict[str, Any]:
        """Return the facts: objective, gap, steps, whether it converged."""
        return {"objective": self.objective, "gap": self.gap, "n_iter": self.n_iter, "converged": self.converged}

    def history_frame(self):
        """Return the history as a pandas frame, one row per step."""
        import pandas as pd

        return pd.DataFrame(dict(self.history))

    def __repr__(self) -> str:
        return facts_text(type(self).__name__, self.describe())

    def _repr_html_(self) -> str:
        steps = f"{self.n_iter:,} iteration{'' if self.n_iter == 1 else 's'}"
        words = f"Converged after {steps}." if self.converged else f"Stopped after {steps}, before it converged."
        if self.gap is not None:
            words += f" The objective, {self.objective:.6g}, is at most {self.gap:.2g} from the optimum."
        elif self.objective == self.objective:  # not NaN
            words += f" The objective is {self.objective:.6g}."
        return f"<p><strong>{type(self).__name__}.</strong> {words}</p>"


def warn_not_converged(
    n_iter: int, change: float, tol: float, hint: str | None = None, stacklevel: int = 3, what: str = "change"
) -> None:
    """Warn that a fit stopped early, and by how much of `what` (the change of a step, a proven gap, ...).

    Parameters
    ----------
    n_iter : int
        Steps that were taken.
    change, tol : float
        What was reached, and what was asked for.
    hint : str, optional
        What to do about it; by default to raise max_iter or loosen tol.
    stacklevel : int, default 3
        Whose line the warning names, as in `warnings.warn`.
    what : str, default "change"
        What `change` measures.

    Examples
    --------
    >>> import warnings
    >>> from sumwise.fit import warn_not_converged
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_not_converged(10, 3e-2, 1e-6)
    >>> print(caught[0].message)
    Stopped after 10 steps with change 3.0e-02; tol is 1.0e-06. Hint: raise max_iter, or loosen tol.
    """
    words = f"Stopped after {n_iter} steps with {what} {change:.1e}; tol is {tol:.1e}."
    warnings.warn(f"{words} Hint: {hint or 'raise max_iter, or loosen tol.'}", NotConverged, stacklevel=stacklevel)
