"""What a fitted distribution answers beyond the label: synthetic rows, any table, held-out tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from sumwise import checks
from sumwise.errors import DataError
from sumwise.estimate import Estimate
from sumwise.maxent.fitted_model import LogLinearModel
from sumwise.maxent.kernels.loglinear import log_sum
from sumwise.maxent.sufficient_statistics import parts_of, sufficient_statistics
from sumwise.tables import Tables

if TYPE_CHECKING:
    import pandas as pd

DRAWS = 20_000


def sample_rows(model: LogLinearModel, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Synthetic individuals: a frame of levels, and the label."""
    import pandas as pd

    codes, labels = model.draw(checks.at_least(n, "n", 1), rng)
    domain, columns = model.schema.domain, {}
    for j, a in enumerate(domain.attributes):
        levels = domain.levels(a)
        columns[a] = [levels[v] for v in codes[:, j]]
    return pd.DataFrame({**columns, label_name(model): model.schema.classes[labels]})


def label_name(model: LogLinearModel) -> str:
    """Name of the label's column."""
    return model.schema.label if model.schema.label is not None else "label"


def expected_table(model: LogLinearModel, attributes: Any, level: float, n: int, rng: np.random.Generator) -> Estimate:
    """Expected counts of the table over some attributes and the label; see `MaxEntClassifier.expected`."""
    domain, classes = model.schema.domain, model.schema.classes
    names = [attributes] if isinstance(attributes, str) else checks.listing(attributes, "attributes")
    axes = list(domain.axes(names))
    shape = (*(domain[a] for a in names), len(classes))
    level = checks.fraction(level, "level")
    if model.enumerable:
        joint = model.joint()
        away = tuple(i + 1 for i in range(len(domain)) if i not in axes)
        kept = [a for a in range(len(domain)) if a in axes]
        share = np.moveaxis(np.transpose(joint.sum(axis=away), [0, *(1 + kept.index(a) for a in axes)]), 0, -1)
        error = np.zeros(shape)
    else:
        codes, labels = model.draw(checks.at_least(n, "n", 2), rng)
        cell = np.ravel_multi_index((*(codes[:, a] for a in axes), labels), shape)
        share = np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape) / n
        error = np.sqrt(np.maximum(share * (1 - share), 1.0 / n) / n)
    half = model.n * float(ndtri(0.5 + level / 2)) * error
    values = model.n * share
    labels_of = [*(domain.levels(a) for a in names), [checks.plain(c) for c in classes]]
    return Estimate(
        values,
        np.maximum(values - half, 0.0),
        values + half,
        level,
        labels=[[str(v) for v in part] for part in labels_of],
        axes=[*names, label_name(model)],
        name="count",
    )


def held_out_score(
    model: LogLinearModel, tables: Tables, margins: bool, n: int, level: float, rng: np.random.Generator
) -> Estimate:
    """NLLH on other tables of the same population; see `MaxEntClassifier.held_out_score`."""
    lay, fitted = model.layout, model.parameters
    stats = sufficient_statistics(parts_of(tables, "held_out_score")[0], margins, lay.sparse_terms())
    if tables.domain != model.schema.domain or stats.layout.terms != lay.terms:
        raise DataError("The tables aren't over the attribute sets that the model was trained on.")
    linear = float(np.sum(stats.data.sums * fitted.theta)) / stats.n + float(stats.shares @ fitted.offsets)
    codes, _ = model.draw(checks.at_least(n, "n", 2), rng)
    normaliser = log_sum(model.scores(codes), axis=1)
    entropy = -float(stats.shares @ np.log(stats.shares))
    half = float(ndtri(0.5 + level / 2)) * float(normaliser.std()) / np.sqrt(n) / entropy
    score = 1 + (linear - float(normaliser.mean())) / entropy
    named = {"labels": [["held-out tables"]], "axes": ["data"], "name": "NLLH"}
    return Estimate([score], [score - half], [score + half], checks.fraction(level, "level"), **named)
