"""What the text of a report is written from: a fitted model, its data, and what the reader should know about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sumwise.report.summary import Summary, facts, figure, table


@dataclass
class Context:
    """A fitted model and its data, with the options of `sumwise.report.report`.

    `step(name, compute)` runs a long computation; the command line keeps the answer, so an interrupted run goes
    on from there. `compare` maps names to other methods, fitted; `not_compared` says why others are missing.
    """

    model: Any
    data: Any
    truth: Any = None
    compare: Mapping[str, Any] = field(default_factory=dict)
    not_compared: Sequence[str] = ()
    title: str | None = None
    level: float = 0.95
    random_state: Any = 0
    classes: Sequence[str] | None = None  # names of classes, in the order of the model's probabilities
    groups: Mapping[str, Any] | None = None  # (proportions) subgroups to show: a level per individual
    survey: Any = None  # (proportions) a frame of shares by a survey
    response: str | None = None  # (distribution) what the response is called
    time_name: str = "time"  # (collective) what a time is called: week
    regions: Mapping[str, Any] | None = None  # (collective) names of regions and their places, for connectivity
    outlines: Mapping[str, Any] | None = None  # (collective) GeoJSON of polygons that maps show
    names: Mapping[str, str] = field(default_factory=dict)  # of columns, and of levels as "COLUMN = LEVEL"
    notes: Sequence[str] = ()  # what was done to the data
    cautions: Sequence[str] = ()  # what a reader must know before the numbers
    shapes: Any = None  # (ecological) the shape of every unit, for maps: `plots.unit_shapes`
    head_counts: bool = True  # (ecological) whether totals are numbers of people; else units count alike
    step: Callable[[str, Callable[[], Any]], Any] = lambda _, compute: compute()
    frames: dict[str, Any] = field(default_factory=dict)  # tables of the result, by file name without ending

    @property
    def method(self) -> str:
        """The name of the method."""
        return type(self.model).__name__

    @property
    def percent(self) -> str:
        """The level of the intervals in words."""
        return f"{100 * self.level:g}%"

    def feature_name(self, name: str, columns: Sequence[str]) -> str:
        """What readers see of a feature: a column's name, or "column = level" where it is the indicator of a level."""
        if name in columns:
            return self.names.get(name, name)
        column = max((c for c in columns if name.startswith(f"{c}=")), key=len, default=None)
        if column is None:
            return self.names.get(name, name)
        level = name[len(column) + 1 :]
        return f"{self.names.get(column, column)} = {self.names.get(f'{column} = {level}', level)}"

    def convergence(self, summary: Summary) -> None:
        """Add how the estimates were computed, and the course of the objective."""
        fit = getattr(self.model, "fit_", None)
        pairs: dict[str, Any] = {"method": self.method}
        if fit is not None:
            pairs |= {"converged": bool(fit.converged), "iterations": fit.n_iter}
            if (r_hat := getattr(self.model, "r_hat_", None)) is not None:
                pairs["largest split R-hat"] = f"{float(np.max(r_hat)):.3f}"
                pairs["smallest effective number of draws"] = f"{float(np.min(self.model.effective_size_)):,.0f}"
            if fit.gap is not None and np.isfinite(fit.gap) and fit.objective:
                pairs["gap to the optimum"] = f"at most {abs(fit.gap / fit.objective):.0e} of the objective"
        summary.add("certainty", facts(pairs, "Computation"))
        curve = None if fit is None else _curve(fit)
        if fit is not None and curve is not None:
            import pandas as pd

            what, values = curve
            data = table(pd.DataFrame({"iteration": np.arange(len(values)) + 1, what: values}), "Training curve")
            numbers = {"names": [self.method], "values": [values], "what": SHORT_MEANING.get(what, "objective")}
            caption = f"{what[0].upper()}{what[1:]}, at each iteration. A flat end means that the fit has converged."
            summary.add("certainty", figure("training_curve", numbers, caption, data, folded="Training curve"))


MISSING = "(missing)"  # the level of those whose level is not known
MEANING = {
    "misfit": "misfit between model and tables, in standard errors (lower is better)",
    "moment_error": "largest difference between model and tables (lower is better)",
    "change": "change of the estimates from the iteration before (lower is better)",
}
SHORT_MEANING = dict(
    zip(MEANING.values(), ("misfit, in standard errors", "largest difference", "change of the estimates"))
)


def _curve(fit: Any) -> tuple[str, list[float]] | None:
    """The entry of a history that shows convergence, with its meaning and direction."""
    for key in ("misfit", "moment_error", "objective", "change"):
        values = [float(v) for v in fit.history.get(key, ())]
        if len(values) < 2:
            continue
        if key in MEANING:
            return MEANING[key], values
        steps = np.diff(values)
        slack = 1e-9 * max(map(abs, values))
        if (np.abs(steps) <= slack).all():
            continue
        if (steps <= slack).all() or (steps >= -slack).all():
            better = "lower" if values[-1] < values[0] else "higher"
            return f"objective of the fit ({better} is better)", values
    return None


def listed(names: Sequence[Any], most: int = 3) -> str:
    """Names as a phrase: "a, b and c", "a, b and 4 others"."""
    words = [str(n) for n in names]
    if len(words) > most:
        words = [*words[: most - 1], f"{len(words) - most + 1} others"]
    between = "; " if any("," in word for word in words) else ", "
    return words[0] if len(words) == 1 else f"{between.join(words[:-1])} and {words[-1]}"


def subgroup(group: object, level: object) -> str:
    """A subgroup in words: "age above 30", "region west", "married = yes".

    Examples
    --------
    >>> from sumwise.report.context import subgroup
    >>> subgroup("age", "above 30"), subgroup("married", "yes"), subgroup("region", "(missing)")
    ('age above 30', 'married = yes', 'region missing')
    """
    words = str(level)
    words = words[1:-1] if words == MISSING else words
    code = words.isdigit() or words.lower() in ("yes", "no", "true", "false")
    return f"{group} = {words}" if code else f"{group} {words}"


def plural(n: float, word: str, many: str | None = None) -> str:
    """A number with its noun: "1 unit", "1,200 units"."""
    return f"{n:,.0f} {word if round(n) == 1 else many or word + 's'}"
