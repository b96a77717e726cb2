"""A table of scores: individuals by predicted probability and class, and the calibration that it gives.

A model of pairs has the right rates in every cell of its tables, but its log-odds may vary too much over individuals:
how features combine three or more at a time is in no table of pairs. One more table, of individuals by predicted
probability, shows whether they do. Counted exactly or released with noise, it is a table like any other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit, logit

from sumwise.encoding import Encoding
from sumwise.encoding.rules import Cuts
from sumwise.errors import DataError
from sumwise.maxent.fitted_model import DRAWS, LogLinearModel
from sumwise.tables import Tables

ATTRIBUTE, COLUMN = "probability", "probability_1"  # the latter as in `to_sql`
QUANTILES = 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.995  # of the model's own predictions
MAX_LOG_ODDS = 20.0  # log-odds of cut points; beyond, probabilities are 0 or 1 but for rounding
# Of the normal priors around 1 and 0. Slopes by exact tables of scores were 0.68 to 1.11 at epsilon 0.1 (six data sets)
SLOPE_SD, SHIFT_SD = 0.15, 0.1
POINTS_PER_RANGE = 20  # that stand for the individuals of a range
ROUNDS = 25  # of Fisher scoring


def score_encoding(model: LogLinearModel, releases: list[dict[str, Any]]) -> Encoding:
    """Ranges of the predicted probability that hold given shares of the individuals that the model expects.

    They depend on the model alone. releases: of the tables behind it; without any, it depends on exact counts, and so
    do the cut points.
    """
    edges = expit(_edges(_drawn_log_odds(model)))
    return Encoding({ATTRIBUTE: Cuts(COLUMN, tuple(edges.tolist()), learned=not releases)})


def score_table(model: LogLinearModel, frame: Any, labels: Any, releases: list[dict[str, Any]]) -> Tables:
    """Individuals counted by range of predicted probability, and class."""
    encoding, codes = score_encoding(model, releases), model.schema.codes(frame)
    y, edges = model.schema.label_codes(labels, len(codes)), encoding.rules[ATTRIBUTE].edges
    level = np.searchsorted(edges, expit(_log_odds(model, codes)), side="right")
    names = np.array(encoding.domain.levels(ATTRIBUTE), dtype=object)[level]
    label = model.schema.label or "label"
    counted = Tables.from_frame({ATTRIBUTE: names, label: y}, [ATTRIBUTE], label, order=1, domain=encoding.domain)
    # Where a person had several rows in the other tables, a release has to say how many they have here
    alone = all(str(r.get("neighbours", "")).startswith("up to 1 row ") for r in releases if "of" not in r)
    known = replace(counted.provenance, weighted=False if alone else None, learned=encoding.learned)
    classes = tuple(model.schema.classes.tolist())
    return replace(counted, encoding=encoding, label=model.schema.label, classes=classes, provenance=known)


def calibration_of(model: LogLinearModel, tables: Tables) -> tuple[float, np.ndarray]:
    """Slope and shifts (2,), the first 0, of the model's log-odds by a table of scores, exact or with noise."""
    drawn = _drawn_log_odds(model)
    _check(model, tables, drawn)
    table, sums = tables[ATTRIBUTE], np.asarray(tables[ATTRIBUTE].label_sums)
    noise = np.broadcast_to(table.noise_of_sums.variance(sums), sums.shape)
    if sums.ndim == 2:  # classes that aren't 0 and 1 have a column each
        sums, noise = sums[:, 1], noise[:, 1]
    return fit_score_table(*_ranges(_edges(drawn), drawn), np.stack([table.counts - sums, sums]), noise)


def fit_score_table(
    z: np.ndarray, shares: np.ndarray, counts: np.ndarray, noise: np.ndarray
) -> tuple[float, np.ndarray]:
    """Slope and shifts (2,), the first 0, from counts (2, R) of both classes in each range of predictions.

    z (R, Q): log-odds of individuals in each range, and shares (R,) of all individuals, as the model expects them;
    noise (R,): variance of the noise of one count. Log-odds z become z + (slope - 1) (z - z0) + a, with z0 where a
    change of the slope leaves the rate of the label as it is. Both are drawn to 1 and 0, and the slope is at most 1.
    Ranges are weighted by what sampling and noise leave of them; the estimating equations have mean zero for any noise.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.maxent.score_table import fit_score_table
    >>> z, n = np.linspace(-3, 3, 13)[:, None], np.full(13, 10_000.0)
    >>> p = 1 / (1 + np.exp(-0.7 * z[:, 0]))
    >>> slope, shifts = fit_score_table(z, n / n.sum(), np.stack([n * (1 - p), n * p]), np.zeros(13))
    >>> round(slope, 2), bool(abs(shifts[1]) < 0.01)
    (0.7, True)
    """
    expected = shares * max(float(counts.sum()), 1.0)
    weight = expected[:, None] * expit(z) * expit(-z)
    centre = float(np.sum(weight * z) / max(np.sum(weight), 1e-300))
    change, a = _scored(z, centre, expected, counts, noise, SLOPE_SD)
    if change > 0:  # what was fitted to the same individuals is too steep for them by chance
        change, a = 0.0, _scored(z, centre, expected, counts, noise, 1e-9)[1]
    return 1.0 + change, np.array([0.0, a - change * centre])


def _scored(z, centre, expected, counts, noise, slope_sd: float) -> tuple[float, float]:
    """slope - 1 and a, by Fisher scoring."""
    prior, found = np.array([slope_sd**-2, SHIFT_SD**-2]), np.zeros(2)
    for _ in range(ROUNDS):
        now = z + found[0] * (z - centre) + found[1]
        p, steep = expit(now).mean(axis=1), expit(now) * expit(-now)
        design = expected * np.stack([(steep * (z - centre)).mean(axis=1), steep.mean(axis=1)])
        variance = expected * p * (1 - p) + noise * (p**2 + (1 - p) ** 2) + 1e-9
        off = counts[1] * (1 - p) - counts[0] * p  # of mean zero, however many individuals are in the range
        step = design @ (off / variance) - prior * found
        move = np.linalg.solve((design / variance) @ design.T + np.diag(prior), step)
        found = found + np.clip(move, -0.5, 0.5)
        found[0] = max(found[0], -1.0)  # the order of individuals is the tables'
        if np.abs(move).max() < 1e-9:
            break
    return float(found[0]), float(found[1])


def _check(model: LogLinearModel, tables: Tables, drawn: np.ndarray) -> None:
    """Refuse what is not one table of this model's scores."""
    rule = tables.encoding.rules.get(ATTRIBUTE) if tables.encoding is not None else None
    if len(tables) != 1 or tables.domain.attributes != (ATTRIBUTE,) or not isinstance(rule, Cuts):
        raise DataError("The tables are not a table of scores.", hint="make it by score_table, or score_encoding.")
    mine, table = _edges(drawn), tables[ATTRIBUTE]
    if len(rule.edges) != len(mine) or not np.allclose(logit(np.array(rule.edges)), mine, atol=1e-6):
        raise DataError("The table of scores was counted for another model.", hint="count it with this one.")
    if table.label_sums is None or np.isnan(table.counts).any() or np.isnan(table.label_sums).any():
        raise DataError("The table of scores has no label sums, or cells that are not known.")
    if list(tables.classes or ()) != model.schema.classes.tolist():
        raise DataError("The table of scores has classes other than the model's.", hint="count it with the same label.")


def _log_odds(model: LogLinearModel, codes: np.ndarray) -> np.ndarray:
    if len(model.schema.classes) != 2:
        raise DataError(
            f"A table of scores is for two classes; the model has {len(model.schema.classes)}.",
            hint="calibrate with labelled individuals.",
        )
    z = model.scores(codes)
    return z[:, 1] - z[:, 0]


def _drawn_log_odds(model: LogLinearModel) -> np.ndarray:
    return _log_odds(model, model.draw(DRAWS, np.random.default_rng(0))[0])


def _edges(drawn: np.ndarray) -> np.ndarray:
    """Cut points, in log-odds: between predictions, never at one, so that rounding moves nobody."""
    values = np.unique(drawn)
    if len(values) < 2:
        raise DataError("The model predicts the same for everybody, so that there is nothing to calibrate.")
    at = np.unique(np.clip(np.searchsorted(values, np.quantile(drawn, QUANTILES)), 1, len(values) - 1))
    edges = np.unique((values[at] + values[at - 1]) / 2)
    edges = edges[np.abs(edges) <= MAX_LOG_ODDS]
    if not len(edges):
        raise DataError("The model is certain of everybody's class, so that there is nothing to calibrate.")
    return edges


def _ranges(edges: np.ndarray, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds (R, Q) of the model's individuals in each range, by quantile, and their shares (R,)."""
    level = np.searchsorted(edges, drawn, side="right")
    within = (np.arange(POINTS_PER_RANGE) + 0.5) / POINTS_PER_RANGE
    z = np.stack([np.quantile(drawn[level == r], within) for r in range(len(edges) + 1)])
    return z, np.bincount(level) / len(drawn)
