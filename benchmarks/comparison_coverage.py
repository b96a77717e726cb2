"""How often the 95% intervals of differences that ``sumwise compare`` gives cover the true difference.

    python benchmarks/comparison_coverage.py                 # some 15 minutes of one core; --only for a part, --merge
    python benchmarks/comparison_coverage.py --pairs 5       # to try

Simulated pairs of elections: of separate units; of the same units, whose shares deviate alike in both elections, in
opposite ways, or independently; with shares that move with a confounder. Real pairs: the same New Zealand electorate
in two successive elections with the same boundaries, voters of the two largest parties and all others against the
candidates that each of the two parties' voters chose most, and all others. Pairs of simulated surveys: shares of
subgroups by `CardinalityClassifier`.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from time import process_time

import numpy as np
from run_record import run_record

from ecological import against_rest
from sumwise import Margins, datasets, synthetic
from sumwise.diagnostics import subgroup_shares
from sumwise.ecological import EcologicalEM
from sumwise.metrics import difference_interval
from sumwise.proportions import CardinalityClassifier

OUT = Path(__file__).parent / "results" / "comparison_coverage.json"
SHAPES = {"2 x 2": (2, 2), "3 x 3": (3, 3)}
SUCCESSIVE = {"NZ_2002": "NZ_2005", "NZ_2008": "NZ_2011"}
PARTIES = ("Labour", "National")


def estimated(margins):
    """Shares and their interval, as `sumwise fit` gives them."""
    model = EcologicalEM(random_state=0).fit(margins)
    return model.shares_, *model.interval(0.95)


def separate(pairs, n_units, shape, bias):
    """Two elections of separate units."""
    for k in range(pairs):
        drawn = [
            synthetic.precincts(n_units, *shape, bias=bias, random_state=np.random.default_rng([7, k, part]))
            for part in (0, 1)
        ]
        yield [(d.margins, d.total) for d in drawn]


def same_units(pairs, n_units, shape, correlation):
    """Two elections of the same units and people, whose shares deviate from the groups' with this correlation."""
    for k in range(pairs):
        rng = np.random.default_rng([8, k])
        n_rows, n_cols = shape
        rows = np.array(
            [
                rng.multinomial(n, x)
                for n, x in zip(rng.integers(200, 900, n_units), rng.dirichlet(np.full(n_rows, 1.5), n_units))
            ]
        )
        base = np.log(rng.dirichlet(np.full(n_cols, 3.0), n_rows))
        first = 0.3 * rng.normal(size=(n_units, n_rows, n_cols))
        fresh = 0.3 * rng.normal(size=first.shape)
        later = correlation * first + np.sqrt(1 - correlation**2) * fresh
        change = 0.3 * rng.normal(size=base.shape)
        pair = []
        for logits in (base + first, base + change + later):
            shares = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
            cells = np.array([[rng.multinomial(n, p) for n, p in zip(row, of)] for row, of in zip(rows, shares)])
            pair.append((Margins(cells.sum(axis=2), cells.sum(axis=1)), cells.sum(axis=0)))
        yield pair


def electorates(pairs):
    """The same electorate in two successive elections."""
    known = {(c.dataset, c.district): c for c in datasets.contests()}
    found = [(key, (SUCCESSIVE[key[0]], key[1])) for key in known if key[0] in SUCCESSIVE]
    for one, two in [(a, b) for a, b in found if b in known][:pairs]:
        both = [_by_party(known[key]) for key in (one, two)]
        if None not in both:
            yield both


def _by_party(contest):
    """Margins and true table by the two parties; None where their voters are not counted apart."""
    names = [str(name) for name in contest.margins.row_names]
    groups = [k for party in PARTIES for k, name in enumerate(names) if name.startswith(party)]
    if len(groups) < len(PARTIES):
        return None
    chosen = [int(np.argmax(contest.total[groups[0]]))]
    ranked = np.argsort(-contest.total[groups[1]])
    chosen.append(int(next(c for c in ranked if c not in chosen)))
    rows, cols = against_rest(contest.margins.rows, groups), against_rest(contest.margins.cols, chosen)
    return Margins(rows, cols), against_rest(against_rest(contest.total.T, groups).T, chosen)


def ecological_row(name, pairs):
    """Coverage and mean width over all cells of all pairs; whole fits that fail are counted."""
    held, width, own = [], [], []
    for pair in pairs:
        parts = [estimated(margins) for margins, _ in pair]
        truth = [cells / cells.sum(axis=1, keepdims=True) for _, cells in pair]
        low, high = difference_interval(*parts)
        gap = truth[1] - truth[0]
        held.append(((low <= gap) & (gap <= high)).ravel())
        own += [((a <= t) & (t <= b)).ravel() for (_, a, b), t in zip(parts, truth)]
        width.append((high - low).mean())
    return _row(name, held, own, width)


def _row(name, held, own, width):
    by_pair = np.array([h.mean() for h in held])
    return {
        "data": name,
        "pairs": len(held),
        "coverage": float(by_pair.mean()),
        "standard error": float(by_pair.std(ddof=1) / np.sqrt(len(held))) if len(held) > 1 else None,
        "coverage of single shares": float(np.mean([o.mean() for o in own])),
        "width": float(np.mean(width)),
    }


def surveys(pairs, n_bags):
    """Two surveys of other people: how the share of a class differs in every subgroup."""
    held, own, width = [], [], []
    for k in range(pairs):
        parts, truth = [], []
        for part in (0, 1):
            rng = np.random.default_rng([9, k, part])
            data = synthetic.election(n_bags, 40, mean_weight=1, weight_spread=0, random_state=rng)
            model = CardinalityClassifier().fit(data.bags, data.counts[:, 1])
            groups = {name: data.codes[name] for name in ("sex", "race")}
            frame = subgroup_shares(model, data.bags, data.counts[:, 1], groups)
            frame = frame[(frame["class"] == frame["class"].iloc[-1]) & frame["group"].isin(groups)]
            parts.append([frame[c].to_numpy() for c in ("share", "low", "high")])
            rows = zip(frame["group"], frame["level"])
            truth.append(np.array([data.labels[groups[g].astype(str) == str(v)].mean() for g, v in rows]))
        low, high = difference_interval(*parts)
        gap = truth[1] - truth[0]
        held.append((low <= gap) & (gap <= high))
        own += [(a <= t) & (t <= b) for (_, a, b), t in zip(parts, truth)]
        width.append((high - low).mean())
    return _row(f"two surveys, {n_bags} bags of 40", held, own, width)


def settings(pairs):
    """Every setting by the part it belongs to: its name, and pairs of (margins, true table)."""
    for shape, units in (("2 x 2", 60), ("2 x 2", 200), ("3 x 3", 60), ("3 x 3", 200)):
        yield "separate", f"separate units, {shape}, {units} units", separate(pairs, units, SHAPES[shape], 0.0)
    for shape, sides in SHAPES.items():
        yield "confounded", f"separate units, {shape}, 100 units, confounded", separate(pairs, 100, sides, 0.3)
        for rho in (-0.7, 0.0, 0.7):
            name = f"same units, {shape}, 100 units, deviations correlated {rho:g}"
            yield f"same {shape[0]}", name, same_units(pairs, 100, sides, rho)
    yield "electorates", "electorates of New Zealand, 3 x 3", electorates(pairs)


def written(rows, seconds, out, commit):
    """Write what is known so far."""
    record = {"command": "python benchmarks/comparison_coverage.py --only PART --out PART.json, then --merge"}
    record |= {"commit": commit, "level": 0.95, "cpu_seconds": round(seconds, 1)}
    Path(out).write_text(json.dumps(record | {"rows": rows}, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=200, help="of every setting; electorates: at most, all by default")
    parser.add_argument("--only", help="separate, confounded, 'same 2', 'same 3', electorates or surveys")
    parser.add_argument("--out", default=str(OUT))
    parser.add_argument("--merge", nargs="+", help="files of parts")
    given, start, rows = parser.parse_args(), process_time(), []
    if given.merge:
        parts = [json.loads(Path(file).read_text()) for file in given.merge]
        commit = ", ".join(dict.fromkeys(part["commit"] for part in parts))
        rows = [row for part in parts for row in part["rows"]]
        written(rows, sum(p["cpu_seconds"] for p in parts), given.out, commit)
        return

    def keep(row):
        print(row, flush=True)
        rows.append(row)
        written(rows, process_time() - start, given.out, run_record()["commit"])

    for part, name, pairs in settings(given.pairs):
        if given.only in (None, part):
            keep(ecological_row(name, pairs))
    if given.only in (None, "surveys"):
        for n_bags in (40, 80):
            keep(surveys(given.pairs, n_bags))


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
