"""Errors, coverage and width of pooled contests, with everything learned on the other elections.

Used by contest_correction.py: the network, the limit of its use and the numbers behind intervals come from the other
five elections for each election reported.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from sumwise.ecological import error_index
from sumwise.ecological.calibration import (
    EDGE,
    USUAL,
    beta_interval,
    chance_sd,
    small_table_factor,
    spread_factor,
)
from sumwise.ecological.correction import corrected_table, resemblance
from sumwise.ecological.kernels.bounds import aggregate_bounds
from sumwise.ecological.kernels.pooling import mixed_table
from sumwise.ecological.pooling import shrinkage

TARGET, FREEDOM = 0.963, 5  # coverage on the elections learned on; Student's t for errors with heavy tails


def variance_terms(table, fact, rows):
    """The four terms of `pooled_sd`, squared, (R, C, 4), and the shares."""
    size = fact.table.sum(axis=1, keepdims=True)
    share = table / size
    p = np.clip(share, EDGE, 1 - EDGE)
    moved = np.abs(table - fact.table) / size
    by_group = p * (1 - p) / (10 * size / size.sum())
    parts = [p * (1 - p), by_group, moved**2, chance_sd(share, rows, fact.dispersion) ** 2]
    factor = small_table_factor(*share.shape) * spread_factor(fact.dispersion)
    return factor**2 * np.stack(parts, -1), share


class Coverage:
    """Intervals of one kind of estimate, fitted to some contests and tried on others."""

    def __init__(self, tables, facts, truth, contests, distance):
        self.parts = {}
        for key, table in tables.items():
            terms, share = variance_terms(table, facts[key], contests[key].rows)
            true = truth[key] / truth[key].sum(axis=1, keepdims=True)
            bounds = aggregate_bounds(contests[key].rows, contests[key].cols)
            self.parts[key] = terms, share, true, bounds, distance[key]

    def fit(self, keys, by_distance):
        """Coefficients and the effect of distance, by maximum likelihood of errors."""
        terms = np.concatenate([self.parts[k][0].reshape(-1, 4) for k in keys])
        error = np.concatenate([(self.parts[k][1] - self.parts[k][2]).ravel() for k in keys])
        away = np.concatenate([np.full(self.parts[k][1].size, self.parts[k][4] - USUAL) for k in keys])

        def loss(theta):
            variance = (terms @ np.exp(2 * theta[:4])) * np.exp(2 * theta[4] * away) + 1e-10
            return np.mean(0.5 * np.log(variance) + 0.5 * (FREEDOM + 1) * np.log1p(error**2 / variance / FREEDOM))

        limits = [(-6, 1)] * 4 + [(0, 4) if by_distance else (0, 0)]
        start = np.append(np.log([0.04, 0.1, 0.2, 0.2]), 1.0 if by_distance else 0.0)
        best = minimize(loss, start, method="L-BFGS-B", bounds=limits).x
        return np.exp(best[:4]), float(best[4])

    def covered(self, key, coefficients, effect, scale):
        """Which cells are covered, and the widths."""
        terms, share, true, (low_bound, high_bound), distance = self.parts[key]
        sd = scale * np.exp(effect * (distance - USUAL)) * np.sqrt(terms @ coefficients**2)
        low, high = beta_interval(share, sd, 0.95, low_bound, high_bound)
        return ((low <= true + 1e-12) & (true <= high + 1e-12)).ravel(), (high - low).ravel()

    def scale(self, keys, coefficients, effect):
        """The scale at which `TARGET` of the cells of these contests are covered."""
        low, high = 0.3, 3.0
        for _ in range(12):
            middle = (low + high) / 2
            share = np.mean(np.concatenate([self.covered(k, coefficients, effect, middle)[0] for k in keys[::3]]))
            low, high = (middle, high) if share < TARGET else (low, middle)
        return (low + high) / 2

    def left_out(self, elections, by_distance):
        """Coverage and width of each election with numbers from the others, of all, and the numbers from all."""
        rows, cells = {}, []
        for election in elections:
            train = [k for k in self.parts if k[0] != election]
            fitted = self.fit(train, by_distance)
            scale = self.scale(train, *fitted)
            done = [self.covered(k, *fitted, scale) for k in self.parts if k[0] == election]
            ok, width = (np.concatenate(side) for side in zip(*done))
            rows[election] = {"coverage": ok.mean(), "width": width.mean()}
            cells.append((ok, width))
        ok, width = (np.concatenate(side) for side in zip(*cells))
        rows["all"] = {"coverage": ok.mean(), "width": width.mean()}
        every = list(self.parts)
        coefficients, effect = self.fit(every, by_distance)
        scale = self.scale(every, coefficients, effect)
        return rows, {"coefficients": coefficients.tolist(), "effect of distance": effect, "scale": scale}


def country_left_out(folder, facts, truth, pooled):
    """New Zealand corrected by what Scotland alone shows: its distance, whether it would be used, and errors."""
    known, rows = dict(np.load(folder / "NZ.npz")), {}
    for election in sorted({k[0] for k in facts if k[0].startswith("NZ")}):
        ids = [k for k in facts if k[0] == election]
        distance = float(np.median(resemblance([facts[k] for k in ids], known)))
        scores = {"alone": {k: facts[k].table for k in ids}, "pooled": {k: pooled[k] for k in ids}}
        scores["corrected"] = {k: corrected_table(facts[k], known) for k in ids}
        row = {name: np.mean([error_index(each[k], truth[k]) for k in ids]) for name, each in scores.items()}
        rows[election] = row | {"distance": distance, "used by default": distance < 1}
        print("Scotland alone", election, rows[election], flush=True)
    return rows


def measure(folder, facts, strength, truth, contests):
    """Everything that the report states."""
    elections = sorted(strength)
    known = {e: dict(np.load(folder / f"{e}.npz")) for e in elections}
    of = {e: [k for k in facts if k[0] == e] for e in elections}
    distance = {e: float(np.median(resemblance([facts[k] for k in of[e]], known[e]))) for e in elections}
    tables = {
        "alone": {k: f.table for k, f in facts.items()},
        "pooled": {k: mixed_table(f.table, f.pooled, shrinkage(strength[k[0]], f)) for k, f in facts.items()},
        "corrected": {k: corrected_table(f, known[k[0]]) for k, f in facts.items()},
    }
    tables["default"] = {k: tables["corrected" if distance[k[0]] < 1 else "pooled"][k] for k in facts}
    index = {}
    for name, each in tables.items():
        score = {k: error_index(each[k], truth[k]) for k in facts}
        index[name] = {e: np.mean([score[k] for k in of[e]]) for e in elections}
        index[name]["all"] = np.mean(list(score.values()))
    away = {k: distance[k[0]] for k in facts}
    result = {"index": index, "distance": distance, "pooling strength": strength}
    result["country left out"] = country_left_out(folder, facts, truth, tables["pooled"])
    for name in ("pooled", "corrected"):
        print(name, {e: round(float(v), 3) for e, v in index[name].items()}, flush=True)
        coverage = Coverage(tables[name], facts, truth, contests, away)
        result[f"intervals, {name}"], result[f"numbers, {name}"] = coverage.left_out(elections, name == "corrected")
        for election, row in result[f"intervals, {name}"].items():
            print("  ", election, {k: round(float(v), 3) for k, v in row.items()}, flush=True)
        print("  ", result[f"numbers, {name}"])
    return result
