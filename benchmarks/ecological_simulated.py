"""Intervals where the model is right: coverage of nominal 95% on simulated units of shapes that are hard.

    python benchmarks/ecological_simulated.py                        # every method and shape
    python benchmarks/ecological_simulated.py King "few units"       # one method, shapes whose name has these words
    python benchmarks/ecological_simulated.py largest                # Goodman, by the part of people in one unit
    python benchmarks/ecological_simulated.py --merge PART.json ...  # parts that were written elsewhere (--out)

Shares of groups vary from unit to unit around one table, independently of composition: what every method assumes. The
shapes are few units, one unit that holds most people, small groups and candidates, groups that live in few units, units
that are copies of each other, homogeneous units, and units that are composed alike or vary much. The truth is the table
that was drawn. Writes benchmarks/results/ecological_simulated.json; parts that were not run keep what they have.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
from pathlib import Path

import numpy as np
from run_record import run_record

from sumwise import Contests, Margins
from sumwise.ecological import EcologicalEM, Goodman, King, MultinomialDirichlet, goodman
from sumwise.errors import SumwiseError

RESULTS = Path(__file__).parent / "results" / "ecological_simulated.json"
DRAWS, SEED = 200, 7


def drawn(rng, rows, shares, concentration=60):
    """Tables of units (n, R, C) whose shares vary around those given."""
    return np.array([[rng.multinomial(x, rng.dirichlet(concentration * p)) for x, p in zip(r, shares)] for r in rows])


def table(rng, n_rows, n_cols):
    return rng.dirichlet([2.0] * n_cols, n_rows)


def groups(rng, sizes, n_rows, alike=1.5):
    return np.array([rng.multinomial(size, rng.dirichlet([alike] * n_rows)) for size in sizes])


def usual(n, n_rows, n_cols, alike=1.5, concentration=60, size=(300, 1500)):
    def draw(rng):
        rows = groups(rng, rng.integers(*size, n), n_rows, alike)
        return drawn(rng, rows, table(rng, n_rows, n_cols), concentration)

    return draw


def one_large(n, n_rows, n_cols, part=0.7):
    """One unit holds 70 percent of all people, or another part of them."""

    def draw(rng):
        sizes = rng.integers(300, 1500, n)
        sizes[0] = int(sizes[1:].sum() * part / (1 - part))
        return drawn(rng, groups(rng, sizes, n_rows), table(rng, n_rows, n_cols))

    return draw


def small_group(rng):
    """A third group of half a percent of all."""
    share = np.minimum(0.005 * rng.gamma(1.0, size=60), 0.2)
    two = rng.dirichlet([1.5, 1.5], 60) * (1 - share)[:, None]
    rows = [rng.multinomial(n, p) for n, p in zip(rng.integers(300, 1500, 60), np.column_stack([two, share]))]
    rows[0][2] += 1  # never nobody
    return drawn(rng, np.array(rows), table(rng, 3, 3))


def in_few_units(rng):
    """A third group that lives in 3 of 60 units."""
    rows = np.column_stack([groups(rng, rng.integers(300, 1500, 60), 2), np.zeros(60, int)])
    rows[:3] = [rng.multinomial(n, [0.3, 0.3, 0.4]) for n in rows[:3].sum(axis=1)]
    return drawn(rng, rows, table(rng, 3, 3))


def rare_candidate(rng):
    """A candidate of less than 0.6 percent."""
    rare = rng.uniform(0.0005, 0.006, 3)[:, None]
    shares = np.hstack([table(rng, 3, 3) * (1 - rare), rare])
    return drawn(rng, groups(rng, rng.integers(300, 1500, 60), 3), shares)


def copies(n, n_rows, n_cols):
    """Every unit four times."""
    draw = usual(n, n_rows, n_cols)
    return lambda rng: np.repeat(draw(rng), 4, axis=0)


def homogeneous(n, n_rows, n_cols):
    """Units of one group each."""

    def draw(rng):
        rows = np.zeros((n, n_rows), int)
        rows[np.arange(n), np.arange(n) % n_rows] = rng.integers(300, 1500, n)
        return drawn(rng, rows, table(rng, n_rows, n_cols))

    return draw


SHAPES = {
    "few units: 3, 2 x 2": usual(3, 2, 2),
    "few units: 4, 2 x 2": usual(4, 2, 2),
    "few units: 6, 2 x 2": usual(6, 2, 2),
    "few units: 12, 2 x 2": usual(12, 2, 2),
    "few units: 20, 2 x 2": usual(20, 2, 2),
    "few units: 5, 3 x 3": usual(5, 3, 3),
    "few units: 8, 3 x 3": usual(8, 3, 3),
    "few units: 12, 3 x 3": usual(12, 3, 3),
    "few units: 20, 8 x 8": usual(20, 8, 8),
    "60 units, 2 x 2": usual(60, 2, 2),
    "60 units, 3 x 3": usual(60, 3, 3),
    "100 units, 8 x 8": usual(100, 8, 8),
    "one unit of 70%, 2 x 2": one_large(40, 2, 2),
    "one unit of 70%, 3 x 3": one_large(60, 3, 3),
    "group of 0.5%": small_group,
    "group in 3 of 60 units": in_few_units,
    "candidate below 0.6%": rare_candidate,
    "copies: 6 units, 2 x 2": copies(6, 2, 2),
    "copies: 15 units, 3 x 3": copies(15, 3, 3),
    "homogeneous: 6 units, 2 x 2": homogeneous(6, 2, 2),
    "homogeneous: 30 units, 3 x 3": homogeneous(30, 3, 3),
    "composed alike, 2 x 2": usual(60, 2, 2, alike=400),
    "composed alike, 3 x 3": usual(100, 3, 3, alike=400),
    "vary much, 2 x 2": usual(60, 2, 2, concentration=4),
    "vary much, 3 x 3": usual(60, 3, 3, concentration=4),
    "units of 3 to 30 people, 2 x 2": usual(60, 2, 2, size=(3, 30)),
    "units of 3 to 30 people, 3 x 3": usual(100, 3, 3, size=(3, 30)),
}
METHODS = {
    "EcologicalEM": EcologicalEM,
    "EcologicalEM, model only": lambda: EcologicalEM(calibrated=False),
    "Goodman": Goodman,
    "Goodman, constrained": lambda: Goodman(constrained=True),
    "King": lambda: King(n_draws=300),
    "MultinomialDirichlet": MultinomialDirichlet,
}


def score(method, shape, draws):
    """Coverage over cells, in the least covered group, and how often a fit was refused or warned."""
    inside, widths, refused, warned = [], [], 0, 0
    for seed in range(draws):
        cells = SHAPES[shape](np.random.default_rng([SEED, seed]))
        total = cells.sum(axis=0)
        true = total / total.sum(axis=1, keepdims=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                low, high = METHODS[method]().fit(Margins(cells.sum(axis=2), cells.sum(axis=1))).interval(0.95)
            except SumwiseError:
                refused += 1
                continue
        warned += bool(caught)
        inside.append((low <= true + 1e-9) & (true <= high + 1e-9))
        widths.append(float((high - low).mean()))
    return summary(inside, widths) | {"refused": refused, "warned": warned}


def pooled(shape, draws):
    """Ten contests of one table each time, fitted together."""
    inside, widths = [], []
    for seed in range(-(-draws // 10)):
        tables = [SHAPES[shape](np.random.default_rng([SEED, seed, k])) for k in range(10)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fits = EcologicalEM().fit(
                Contests({k: Margins(t.sum(axis=2), t.sum(axis=1)) for k, t in enumerate(tables)})
            )
        for k, cells in enumerate(tables):
            total = cells.sum(axis=0)
            true = total / total.sum(axis=1, keepdims=True)
            low, high = fits[k].interval(0.95)
            inside.append((low <= true + 1e-9) & (true <= high + 1e-9))
            widths.append(float((high - low).mean()))
    return summary(inside, widths)


def summary(inside, widths):
    if not inside:
        return {"draws": 0}
    hits = np.array(inside)
    by_draw = hits.mean(axis=(1, 2))
    return {
        "draws": len(hits),
        "coverage": round(float(by_draw.mean()), 3),
        "error of coverage": round(float(by_draw.std() / np.sqrt(len(hits))), 3),
        "least covered group": round(float(hits.mean(axis=(0, 2)).min()), 3),
        "width": round(float(np.mean(widths)), 3),
    }


PARTS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7)


def largest_unit(draws):
    """Goodman's coverage by the part of all people in the largest unit, with degrees of freedom by group and without.

    `goodman.LARGE` is the part from which a fit has them, and warns.
    """
    rows = {}
    for part, (n, n_rows, n_cols) in itertools.product(PARTS, ((40, 2, 2), (60, 3, 3), (150, 3, 3))):
        row = rows.setdefault(f"{n} units, {n_rows} x {n_cols}", {}).setdefault(str(part), {"draws": draws})
        for way, limit in (("as many as units", 2.0), ("by group", 0.0)):
            goodman.LARGE, usual = limit, goodman.LARGE
            inside, width = [], []
            for seed in range(draws):
                rng = np.random.default_rng([SEED, 70, seed])
                cells = one_large(n, n_rows, n_cols, part)(rng)
                truth = cells.sum(axis=0) / cells.sum(axis=(0, 2))[:, None]
                low, high = Goodman().fit(Margins(cells.sum(axis=2), cells.sum(axis=1))).interval(0.95)
                inside.append(((low <= truth) & (truth <= high)).mean())
                width.append((high - low).mean())
            goodman.LARGE = usual
            row[way] = {"coverage": float(np.mean(inside)), "error": float(np.std(inside, ddof=1) / np.sqrt(draws))}
            row[way] |= {"width": float(np.mean(width))}
        print(part, n, row, flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("method", nargs="?", help="default all, and pooled contests")
    parser.add_argument("shapes", nargs="*", default=[""], help="words in the names of shapes")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--merge", type=Path, nargs="*", default=[])
    asked = parser.parse_args()
    commit = run_record()["commit"]
    out = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    out |= {"command": "python benchmarks/ecological_simulated.py", "seed": SEED}
    if asked.merge:
        for shape, rows in (
            (k, v) for part in asked.merge for k, v in json.loads(part.read_text())["coverage"].items()
        ):
            out["coverage"].setdefault(shape, {}).update(rows)
        asked.out.write_text(json.dumps(out, indent=1) + "\n")
        return
    if asked.method == "largest":
        out["largest unit, Goodman"] = {"commit": commit, "seed": SEED} | largest_unit(asked.draws)
        asked.out.write_text(json.dumps(out, indent=1) + "\n")
        return
    for shape in (name for name in SHAPES if any(word in name for word in asked.shapes)):
        for method in [asked.method] if asked.method else [*METHODS, "pooled"]:
            start = time.process_time()
            row = pooled(shape, asked.draws) if method == "pooled" else score(method, shape, asked.draws)
            row |= {"CPU seconds": round(time.process_time() - start, 1), "commit": commit}
            out.setdefault("coverage", {}).setdefault(shape, {})[method] = row
            asked.out.write_text(json.dumps(out, indent=1) + "\n")
            print(shape, "|", method, "|", row, flush=True)


if __name__ == "__main__":
    main()
