"""MST (McKenna, Miklau and Sheldon 2021) on the `mbi` package: a spanning tree of noisy pairs, and rows drawn from it.

Run by benchmarks/private_tables.py as `aim_rows.py` is: python mst_rows.py IN.npz OUT.npz RHO SEED. A third of rho goes
to every attribute's counts, a third to the choice of the tree by the exponential mechanism (weights: how far a pair is
from independence), a third to the counts of its pairs. Levels whose noisy count is below three standard deviations are
merged, and drawn at random again in the synthetic rows. 2,000 steps of mirror descent.
"""

import itertools
import sys
import time
from functools import partial

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

from aim_rows import counts_of, marginal  # noqa: E402
from mbi import Domain, LinearMeasurement, estimation  # noqa: E402

STEPS = 2000


def spanning_tree(gains: dict[tuple[int, int], float], d: int, rho: float, rng) -> list[tuple[int, int]]:
    """Pairs that join all attributes, one after another by the exponential mechanism."""
    of, epsilon, chosen = list(range(d)), np.sqrt(8 * rho / (d - 1)), []
    while len(chosen) < d - 1:
        open_ = [pair for pair in gains if of[pair[0]] != of[pair[1]]]
        logits = 0.5 * epsilon * np.array([gains[pair] for pair in open_])
        chance = np.exp(logits - logits.max())
        a, b = open_[rng.choice(len(open_), p=chance / chance.sum())]
        of = [of[a] if k == of[b] else k for k in of]
        chosen.append((a, b))
    return chosen


def merged(codes: np.ndarray, noisy: list[np.ndarray], sd: float) -> tuple[np.ndarray, list[np.ndarray]]:
    """Codes with rare levels as one last level, and for every attribute the new level of each old one."""
    maps = []
    for counts in noisy:
        kept = counts >= 3 * sd
        kept[np.argmax(counts)] = True
        level = np.full(len(counts), kept.sum())
        level[kept] = np.arange(kept.sum())
        maps.append(level)
    return np.column_stack([m[codes[:, a]] for a, m in enumerate(maps)]), maps


def weighted(found, weight: np.ndarray):
    """Counts of a marginal times weights."""
    return found.datavector() * weight


def main() -> None:
    source, target, rho, seed = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
    begin, given = time.process_time(), np.load(source)
    codes, sizes = given["codes"], given["sizes"].tolist()
    d, rng = len(sizes), np.random.default_rng(seed)
    np.random.seed(seed)  # noqa: NPY002 - rows are drawn by it in mbi
    sd = np.sqrt(3 * d / (2 * rho))
    single = [counts_of(codes, sizes, (a,)) + sd * rng.standard_normal(sizes[a]) for a in range(d)]
    small, maps = merged(codes, single, sd)
    few = [int(m.max()) + 1 for m in maps]
    domain = Domain([str(a) for a in range(d)], few)
    measured = []
    for a, m in enumerate(maps):  # a merged level has the summed noise of those in it
        counts, weight = np.bincount(m, single[a]), np.bincount(m) ** -0.5
        query = partial(weighted, weight=weight)
        measured.append(LinearMeasurement(counts * weight, (str(a),), stddev=sd, query=query))
    alone = [np.maximum(np.bincount(m, single[a]), 0) for a, m in enumerate(maps)]
    alone = [c / c.sum() for c in alone]
    gains = {}
    for a, b in itertools.combinations(range(d), 2):
        apart = counts_of(small, few, (a, b)) - len(codes) * np.outer(alone[a], alone[b]).ravel()
        gains[a, b] = float(np.abs(apart).sum())
    sd = np.sqrt(3 * (d - 1) / (2 * rho))
    for a, b in spanning_tree(gains, d, rho / 3, rng):
        noisy = counts_of(small, few, (a, b)) + sd * rng.standard_normal(few[a] * few[b])
        measured.append(LinearMeasurement(noisy, (str(a), str(b)), stddev=sd))
    model = estimation.MirrorDescent().estimate(domain, measured, iters=STEPS)
    drawn = model.synthetic_data(rows=len(codes))
    table = drawn.to_dict() if hasattr(drawn, "to_dict") else drawn.data
    rows = np.column_stack([split(np.asarray(table[str(a)]), m, rng) for a, m in enumerate(maps)])
    off = [pair_off(model, c, maps, codes, sizes, few) for c in itertools.combinations(range(d - 1), 2)]
    np.savez(target, rows=rows, rounds=2 * d - 1, variation=np.mean(off), cpu_s=time.process_time() - begin)


def split(found: np.ndarray, level: np.ndarray, rng) -> np.ndarray:
    """Old levels: those of a merged level at random."""
    out = np.empty(len(found), dtype=int)
    for new in range(level.max() + 1):
        out[found == new] = rng.choice(np.flatnonzero(level == new), int((found == new).sum()))
    return out


def pair_off(model, pair, maps, codes, sizes, few) -> float:
    """Total variation between the model's pair, merged levels spread evenly, and the rows."""
    a, b = pair
    share = marginal(model, pair, few).reshape(few[a], few[b]) / float(model.total)
    even = [1 / np.bincount(maps[k])[maps[k]] for k in pair]
    spread = share[np.ix_(maps[a], maps[b])] * np.outer(*even)
    return float(np.abs(spread.ravel() - counts_of(codes, sizes, pair) / len(codes)).sum() / 2)


if __name__ == "__main__":
    main()
