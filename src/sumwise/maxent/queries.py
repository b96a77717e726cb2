"""What a fitted distribution answers beyond the label: synthetic rows, any table, held-out tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from sumwise import checks
from sumwise.errors import DataError
from sumwise.estimate import Estimate
from sumwise.maxent.bootstrap import quantile, standing_rows
from sumwise.maxent.engines import Parameters
from sumwise.maxent.fitted_model import DRAWS, LogLinearModel
from sumwise.maxent.hashed_crosses import arranged
from sumwise.maxent.kernels.loglinear import log_sum, term_scores
from sumwise.maxent.sufficient_statistics import parts_of, sufficient_statistics
from sumwise.progress import track
from sumwise.tables import Tables

if TYPE_CHECKING:
    import pandas as pd


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


class Standing(NamedTuple):
    """Rows (m, D) that stand for x, their shares, and how far their log-densities move under each replicate."""

    rows: np.ndarray
    weights: np.ndarray
    moves: list[np.ndarray]


def expected_tables(
    model: LogLinearModel,
    wanted: Sequence[Any],
    level: float,
    n: int,
    rng: np.random.Generator,
    replicates: dict[str, np.ndarray] | None = None,
) -> list[Estimate]:
    """Expected counts of tables over some attributes and the label, all from the same draws."""
    level, n = checks.fraction(level, "level"), checks.at_least(n, "n", 2)
    domain = model.schema.domain
    asked = [[a] if isinstance(a, str) else checks.listing(a, "attributes") for a in wanted]
    axes = [list(domain.axes(names)) for names in asked]
    source: Any = model.joint() if model.enumerable else model.draw(n, rng)
    standing = None
    if replicates is not None:
        if model.enumerable:
            rows, weights = standing_rows(model, model.draw(DRAWS, rng)[0])
        else:
            rows, weights = source[0], np.full(n, 1.0 / n)
        # How far log p(x, y) of rows moves under each replicate's parameters, (n, K) each
        now, out = model.parameters, []
        each = zip(replicates["mu"], replicates["theta"], replicates["offsets"])
        for mu, theta, offsets in track(each, "Replicates", len(replicates["mu"])):
            step = Parameters(mu - now.mu, theta - now.theta, offsets - now.offsets)
            out.append(term_scores(model.layout, rows, step.mu[None]) + model.scores(rows, step))
        standing = Standing(rows, weights, out)
    each = track(zip(asked, axes), "Tables", len(asked))
    return [_expected(model, names, at, source, standing, replicates, level) for names, at in each]


def _expected(model, names, axes, source, standing, replicates, level) -> Estimate:
    """One of `expected_tables`, by the joint table or by draws."""
    domain, classes = model.schema.domain, model.schema.classes
    shape = (*(domain[a] for a in names), len(classes))
    if isinstance(source, np.ndarray) and any(a >= len(model.layout.sizes) for a in axes):
        sizes = model.layout.sizes
        rows = model.layout.with_crossed(np.indices(sizes).reshape(len(sizes), -1).T)
        cell = np.ravel_multi_index(tuple(rows[:, a] for a in axes), shape[:-1])
        columns = [np.bincount(cell, weights=p.ravel(), minlength=int(np.prod(shape[:-1]))) for p in source]
        share, error = np.stack(columns, axis=-1).reshape(shape), np.zeros(shape)
    elif isinstance(source, np.ndarray):
        away = tuple(i + 1 for i in range(source.ndim - 1) if i not in axes)
        kept = [a for a in range(source.ndim - 1) if a in axes]
        share = np.moveaxis(np.transpose(source.sum(axis=away), [0, *(1 + kept.index(a) for a in axes)]), 0, -1)
        error = np.zeros(shape)
    else:
        codes, labels = source
        cell = np.ravel_multi_index((*(codes[:, a] for a in axes), labels), shape)
        share = np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape) / len(codes)
        error = np.maximum(share * (1 - share), 1.0 / len(codes)) / len(codes)
    values, interval = model.n * share, {}
    if standing is not None:
        moved = _answers(model, standing, axes, shape).var(axis=0, ddof=1)
        moved += hidden_by_noise(share, model.n, [_noise_of(model, replicates, a) for a in axes])
        half = model.n * quantile(replicates, level) * np.sqrt(moved + error)
        interval = {"low": np.maximum(values - half, 0.0), "high": values + half, "level": level}
    labels_of = [*(domain.levels(a) for a in names), [checks.plain(c) for c in classes]]
    return Estimate(
        values,
        **interval,
        labels=[[str(v) for v in part] for part in labels_of],
        axes=[*names, label_name(model)],
        name="count",
    )


def _noise_of(model: LogLinearModel, replicates: dict[str, np.ndarray], attribute: int) -> np.ndarray:
    """Variances of the noise in the counts of an attribute's levels; none in bootstraps of earlier versions."""
    sizes = list(model.layout.levels)
    begin = sum(sizes[:attribute])
    return replicates.get("level_noise", np.zeros(sum(sizes)))[begin : begin + sizes[attribute]]


def hidden_by_noise(share: np.ndarray, n: float, noises: Sequence[np.ndarray]) -> np.ndarray:
    """Variances of the shares (*levels, classes) of a table that refits miss: of levels whose count noise hides.

    noises: variances of the noise in the counts of each axis' levels, of all classes together. Refits change
    log-densities, so that the shares of a level that has next to nobody hardly move, whatever the noise. As
    many people of a class as noise hides may be there; over the other axes they are spread as in the model.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.maxent.queries import hidden_by_noise
    >>> share = np.array([[0.7, 0.299], [0.0009, 0.0001]])  # by level and class; 999 and 1 of 1,000 people
    >>> np.sqrt(hidden_by_noise(share, 1000, [np.array([200.0, 200.0])])) * 1000  # noise of 10 by class
    array([[ 0.,  0.],
           [10., 10.]])
    """
    out, classes = np.zeros(share.shape), share.ndim - 1
    for axis, noise in enumerate(noises):
        whole = share.sum(axis=tuple(i for i in range(classes) if i != axis), keepdims=True)
        variance = np.expand_dims(noise / share.shape[-1], tuple(i for i in range(share.ndim) if i != axis))
        others = share.sum(axis=(axis, classes), keepdims=True) / share.sum()  # where nobody is left
        within = np.where(n * whole > 1e-9, share / np.maximum(whole, 1e-300), others)
        out += np.where(n * whole < np.sqrt(variance), variance / n**2 * within**2, 0.0)
    return out


def _answers(model: LogLinearModel, standing: Standing, axes: list, shape: tuple) -> np.ndarray:
    """How the shares of a table's cells answer to the replicates' parameters, to first order: (B, *shape)."""
    rows = standing.rows
    z = model.scores(rows)
    mass = standing.weights[:, None] * np.exp(z - np.logaddexp.reduce(z, axis=1)[:, None])
    cell = np.ravel_multi_index(tuple(rows[:, a] for a in axes), shape[:-1])
    out = []
    for away in standing.moves:
        moved = mass * (away - np.sum(mass * away))
        columns = [np.bincount(cell, weights=m, minlength=int(np.prod(shape[:-1]))) for m in moved.T]
        out.append(np.stack(columns, axis=-1).reshape(shape))
    return np.stack(out)


def held_out_score(
    model: LogLinearModel, tables: Tables, margins: bool, n: int, level: float, rng: np.random.Generator
) -> Estimate:
    """NLLH on other tables of the same population; see `MaxEntClassifier.held_out_score`."""
    lay, fitted = model.layout, model.parameters
    part = arranged(parts_of(tables, "held_out_score")[0])
    stats = sufficient_statistics(part, margins, lay.sparse_terms(), lay.crossed)
    if part.domain != model.schema.domain or stats.layout.terms != lay.terms:
        raise DataError("The tables aren't over the attribute sets that the model was trained on.")
    linear = float(np.sum(stats.data.sums * fitted.theta)) / stats.n + float(stats.shares @ fitted.offsets)
    codes, _ = model.draw(checks.at_least(n, "n", 2), rng)
    normaliser = log_sum(model.scores(codes), axis=1)
    entropy = -float(stats.shares @ np.log(stats.shares))
    half = float(ndtri(0.5 + level / 2)) * float(normaliser.std()) / np.sqrt(n) / entropy
    score = 1 + (linear - float(normaliser.mean())) / entropy
    named = {"labels": [["held-out tables"]], "axes": ["data"], "name": "NLLH"}
    return Estimate([score], [score - half], [score + half], checks.fraction(level, "level"), **named)
