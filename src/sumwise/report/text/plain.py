"""The report on a fitted component (an embedding, a kernel, a model of individuals): what was learned, and how."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sumwise.estimator import family_of
from sumwise.report.context import Context, plural
from sumwise.report.summary import Summary, facts, table

MAX_LISTED = 200  # numbers of a learned array that are listed


def write(context: Context) -> Summary:
    """The summary of any fitted estimator: data, parameters, what was learned, convergence."""
    model = context.model
    data = context.data[0] if isinstance(context.data, tuple) else context.data
    size = plural(len(data), "unit") if hasattr(data, "__len__") else "the data"
    summary = Summary(context.title or f"{context.method} on {size}", family_of(model), context.method)
    purpose = (type(model).__doc__ or "").strip().split("\n")[0]
    summary.lead = [f"{context.method} was fitted to {size}. {purpose}".strip(), *context.cautions]
    fit = getattr(model, "fit_", None)
    if fit is not None and not fit.converged:
        summary.lead.append("Read with caution: the fit stopped before it converged.")
    learned = {
        k: v for k, v in sorted(vars(model).items()) if k.endswith("_") and not k.startswith("_") and k != "fit_"
    }
    rows = [{"name": name, "what": _words(value)} for name, value in learned.items()]
    frame = pd.DataFrame(rows, columns=["name", "what"])
    context.frames["estimates"] = frame
    summary.add("estimates", table(frame, "What was learned", file="estimates.csv"))
    for name, value in learned.items():
        if (
            isinstance(value, np.ndarray)
            and value.ndim == 1
            and 0 < value.size <= MAX_LISTED
            and value.dtype.kind in "fiu"
        ):
            numbers = pd.DataFrame({"position": np.arange(value.size), name: value})
            summary.add("estimates", table(numbers, name))
    summary.add("certainty", facts(model.get_params(deep=False), "Parameters"))
    context.convergence(summary)
    return summary


def _words(value: Any) -> str:
    if isinstance(value, np.ndarray):
        shape = " x ".join(map(str, value.shape)) or "scalar"
        return f"array, {shape}"
    if isinstance(value, (int, float, str, np.number)):
        return str(value)
    return f"{type(value).__name__}" + (f" of {len(value)}" if hasattr(value, "__len__") else "")
