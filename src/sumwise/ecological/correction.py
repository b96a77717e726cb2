"""A correction of pooled tables, learned on elections whose split-vote tables were counted.

It was learned on 386 contests of party vote by candidate vote (New Zealand 2002 to 2014, Scotland 2007): a small
network moves every log lift by what estimates of such cells lack, given the contest's own estimate, what the other
contests of its election have, margins, and how units vary. It is used only where contests look like those
(`resemblance`), and a fit says whether it was. ``benchmarks/contest_correction.py`` trains it and measures it by
leaving one election out.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from sumwise.ecological.kernels.pooling import FLOOR, from_log_lifts, log_lifts

FEATURES = (
    *("lift", "pooled_gap", "spread", "n_contests", "own", "other_group", "unmatched", "group_has_own", "has_group"),
    *("log_group", "log_outcome", "group_ratio", "outcome_ratio", "own_lift", "own_gap", "group_sd", "group_variation"),
    *("cell_variation", "log_units", "log_dispersion", "correlation", "pooled_lift"),
)
FEWEST = 10  # contests of an election from which the correction is considered


class ContestFacts(NamedTuple):
    """What the correction knows of a contest; (R, C) arrays unless said."""

    table: np.ndarray  # its own estimate
    own: np.ndarray  # 1 where an outcome belongs to a group
    other_group: np.ndarray  # (R,) 1 for a group that merges small ones
    pooled: np.ndarray  # centre of the other contests' log lifts
    spread: np.ndarray  # and their standard deviation
    n_others: np.ndarray
    group_sd: np.ndarray  # (R,) standard deviation of the group's share over units
    outcome_sd: np.ndarray  # (C,)
    covariance: np.ndarray  # of the two over units
    cell_sd: np.ndarray  # of the estimated cells over units
    n_units: int
    dispersion: float


def cell_features(facts: ContestFacts) -> np.ndarray:
    """The network's inputs, (R, C, number of features)."""
    lift = log_lifts(facts.table)
    same = np.zeros_like(lift)
    size = facts.table.sum(axis=1)
    group, outcome = size / size.sum(), np.maximum(facts.table.sum(axis=0) / size.sum(), FLOOR)
    own = facts.own
    has_own, has_group = own.sum(axis=1, keepdims=True), own.sum(axis=0, keepdims=True)
    of_own = np.maximum((own * outcome).sum(axis=1, keepdims=True), FLOOR)
    of_group = np.maximum((own * group[:, None]).sum(axis=0, keepdims=True), FLOOR)
    share = np.clip(facts.table / np.maximum(size, 1e-300)[:, None], FLOOR, 1 - FLOOR)
    own_lift = (own * lift).sum(axis=1, keepdims=True)
    scale = np.outer(facts.group_sd, facts.outcome_sd)
    columns = (
        lift,
        facts.pooled - lift,
        np.log(facts.spread),
        np.log1p(facts.n_others),
        own,
        facts.other_group[:, None],
        1 - has_group,
        has_own,
        has_group,
        np.log(group)[:, None],
        np.log(outcome),
        np.where(has_own > 0, np.log(of_own / group[:, None]), 0.0),
        np.where(has_group > 0, np.log(outcome / of_group), 0.0),
        own_lift,
        (own * facts.pooled).sum(axis=1, keepdims=True) - own_lift,
        np.log(np.maximum(facts.group_sd, 1e-4))[:, None],
        np.log(np.maximum(facts.group_sd, 1e-4) / np.sqrt(group * (1 - group) + 1e-9))[:, None],
        np.log(facts.cell_sd / np.sqrt(share * (1 - share)) + 1e-3),
        np.log(float(facts.n_units)),
        np.log(facts.dispersion + 1e-4),
        np.divide(facts.covariance, scale, out=same.copy(), where=scale > 1e-12),
        facts.pooled,
    )
    return np.stack([same + column for column in columns], axis=-1)


def contest_features(facts: ContestFacts) -> np.ndarray:
    """What a contest looks like, for `resemblance`: loyalty, matches, size, variation of units and of contests."""
    x = cell_features(facts)
    named = dict(zip(FEATURES, np.moveaxis(x, -1, 0)))
    size = facts.table.sum(axis=1) / facts.table.sum()
    row_mean = {name: float(np.sum(size * named[name].mean(axis=1))) for name in FEATURES}
    averaged = ("group_has_own", "has_group", "spread", "group_sd", "group_variation", "cell_variation", "own_gap")
    own = np.sum(facts.own * facts.table, axis=1) / np.maximum(facts.table.sum(axis=1), 1e-300)
    return np.array(
        [
            *(row_mean[name] for name in averaged),
            float(np.sum(size * own)),
            np.log(facts.table.shape[0]),
            np.log(facts.table.shape[1]),
            float(np.log(facts.n_units)),
            float(np.log(facts.dispersion + 1e-4)),
        ]
    )


@lru_cache(maxsize=1)
def learned() -> dict[str, np.ndarray]:
    """The trained parameters, from the file beside this one (plain arrays)."""
    with (files("sumwise.ecological") / "correction.npz").open("rb") as file, np.load(file, allow_pickle=False) as data:
        return {name: data[name] for name in data.files}


def resemblance(facts: list[ContestFacts], parameters: Any = None) -> np.ndarray:
    """How far each contest is from those the correction was learned on; 1 is the limit."""
    known = learned() if parameters is None else parameters
    x = (np.array([contest_features(f) for f in facts]) - known["contest_mean"]) / known["contest_sd"]
    return np.sqrt(np.einsum("ni,ij,nj->n", x, known["contest_precision"], x)) / float(known["contest_limit"])


def corrected_lifts(facts: ContestFacts, parameters: Any = None) -> np.ndarray:
    """Log lifts moved towards the pooled ones and corrected, (R, C): the mean of an ensemble of networks."""
    known = learned() if parameters is None else parameters
    x = cell_features(facts)
    z = np.clip((x - known["mean"]) / known["sd"], -4.0, 4.0)
    weight, shift = np.zeros(x.shape[:2]), np.zeros(x.shape[:2])
    for a, b, c, d, e, f in zip(*(known[f"layer_{name}"] for name in ("a", "b", "c", "d", "e", "f"))):
        hidden = _silu(_silu(z @ a + b) @ c + d)
        out = hidden @ e + f
        weight += 1 / (1 + np.exp(-out[..., 0]))
        shift += out[..., 1]
    n = len(known["layer_a"])
    return x[..., 0] + weight / n * x[..., 1] + shift / n


def corrected_table(facts: ContestFacts, parameters: Any = None) -> np.ndarray:
    """The table (R, C) of the corrected lifts, with the margins of the contest."""
    return from_log_lifts(corrected_lifts(facts, parameters), facts.table.sum(axis=1), facts.table.sum(axis=0))


def _silu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))
