"""Widths of EcologicalEM's intervals: chosen on half of the elections, scored on the other half, and on simulations.

    python benchmarks/ecological_intervals.py collect NZ_2002 --to PART.csv.gz   # an election, or "simulated"
    python benchmarks/ecological_intervals.py report PART.csv.gz ...             # of all parts

`collect` fits every contest as it is and folded to small tables (the largest groups and candidates against the rest),
and writes each cell's estimate, truth and parts of its error. `report` chooses the widths of intervals on one half of
the elections (`CHOSEN_ON`, `REPORTED_ON`), scores them on the other, then the other way round, and scores the
package's own numbers on all and on simulated contests whose shares move with a covariate or with a unit's composition;
it writes benchmarks/results/ecological_intervals.json.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from ecological import COVARIATE_SHAPES, against_rest, with_bias
from sumwise import Margins, datasets
from sumwise.ecological import EcologicalEM, aggregation_bias_test
from sumwise.ecological.calibration import chance_sd
from sumwise.ecological.kernels.batched_raking import compiled_kernels

RESULTS = Path(__file__).parent / "results" / "ecological_intervals.json"
SHAPES = {"2 x 2": (1, 1), "2 x 3": (1, 2), "2 x all": (1, None), "all x 2": (None, 1)}
SHAPES |= {"3 x 2": (2, 1), "3 x 3": (2, 2), "4 x 4": (3, 3), "all": (None, None)}
BIASES, SEEDS = (0.0, 0.5, 1.0), range(200, 300)


def folded(contest, seed):
    """The contest as tables of several shapes: name, margins and the true table."""
    first = np.random.default_rng(seed).integers(min(3, len(contest.total)))
    by_size = [np.argsort(-contest.total.sum(axis=1 - side)) for side in (0, 1)]
    groups = np.roll(by_size[0], -first)
    for name, (n_rows, n_cols) in SHAPES.items():
        x, t, cells = contest.margins.rows, contest.margins.cols, contest.total
        if n_rows:
            x, cells = against_rest(x, groups[:n_rows]), against_rest(cells.T, groups[:n_rows]).T
        if n_cols:
            t, cells = against_rest(t, by_size[1][:n_cols]), against_rest(cells, by_size[1][:n_cols])
        yield name, Margins(x, t), cells


def with_context(seed, bias, n_units=300, n_rows=3, n_cols=3):
    """Units whose shares depend on their own composition, each group's in its own way; margins, and the true table."""
    rng = np.random.default_rng(seed)
    composition = rng.dirichlet(4 * rng.dirichlet([4.0] * n_rows), n_units)
    sizes = rng.integers(300, 1500, n_units)
    rows = np.array([rng.multinomial(n, c) for n, c in zip(sizes, composition)])
    slopes = bias * rng.normal(0, 1.5, (n_rows, n_cols)) + bias * rng.normal(0, 1.5, n_cols)
    z = composition[:, 0] - composition[:, 0].mean()
    logits = np.log(rng.dirichlet([2] * n_cols, n_rows)) + z[:, None, None] * slopes
    shares = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    cells = [[rng.multinomial(x, rng.dirichlet(60 * p)) for x, p in zip(row, unit)] for row, unit in zip(rows, shares)]
    cells = np.array(cells)
    return Margins(cells.sum(axis=2), cells.sum(axis=1)), cells.sum(axis=0)


def cells_of(est, margins, total, **facts):
    """One row per cell: estimate, truth and parts of the error."""
    group = margins.rows.sum(axis=0) / margins.rows.sum()
    found = {"p": est.shares_, "truth": total / total.sum(axis=1, keepdims=True)}
    found |= {"chance": est.error_parts_["chance"], "choice": est.error_parts_["choice of method"]}
    found |= {"theory": chance_sd(est.shares_, margins.rows, est.overdispersion_)}
    found |= {"group": np.broadcast_to(group[:, None], total.shape)}
    found |= {"low": est.lower_bound_, "high": est.upper_bound_}
    frame = pd.DataFrame({name: np.ravel(values) for name, values in found.items()})
    frame = frame.assign(curved=aggregation_bias_test(margins)["adjusted p"].min())
    frame = frame.assign(rows=len(total), cols=total.shape[1], units=len(margins), rho=est.overdispersion_)
    return frame.assign(size=margins.totals.mean(), **facts)


def collect_election(name):
    for i, contest in enumerate(datasets.contests()):
        if contest.dataset == name:
            for shape, m, total in folded(contest, i):
                yield cells_of(EcologicalEM().fit(m), m, total, source=name, table=shape, contest=contest.district)


def collect_simulated():
    for seed, bias in itertools.product(SEEDS, BIASES):
        shape = COVARIATE_SHAPES[seed % 3]
        for source, make in (("covariate", with_bias), ("composition", with_context)):
            m, total = make(seed, bias, *shape)
            for used in (None, "all") if source == "covariate" else (None,):
                name = source if used is None else f"{source}, used"
                facts = {"source": name, "table": f"{shape[1]} x {shape[2]}", "contest": seed, "bias": bias}
                yield cells_of(EcologicalEM(covariates=used).fit(m), m, total, **facts)


def collect(names, to):
    begin, parts = time.process_time(), []
    with compiled_kernels():
        for name in names:
            for part in collect_simulated() if name == "simulated" else collect_election(name):
                parts.append(part)
                if len(parts) % 200 == 0:
                    pd.concat(parts).to_csv(to, index=False)
    pd.concat(parts).assign(seconds=time.process_time() - begin).to_csv(to, index=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["collect", "report"])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--to", default="part.csv.gz")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.what == "collect":
        collect(asked.names, asked.to)


if __name__ == "__main__":
    main()
