"""AIM (McKenna et al. 2022) on the `mbi` package: noisy marginals chosen one by one, and rows drawn from the model.

Run by benchmarks/private_tables.py in an environment of its own: python aim_rows.py IN.npz OUT.npz RHO SEED. IN has
level codes (n, D), the label last, and `sizes`; OUT has synthetic rows of the same shape, the rounds, the CPU time, and
the total variation of the model itself over pairs of attributes, without that of drawing rows. The workload is every
pair of attributes with the label. The model may grow to 10 MB; 200 steps of mirror descent a round, from where the last
round ended; a table that is measured again is averaged, which leaves the likelihood as it is. Expected marginals of
candidates are summed from the model's potentials by opt_einsum, since compiling each elimination takes most of the time
otherwise.
"""

import itertools
import sys
import time

import jax
import numpy as np
import opt_einsum

jax.config.update("jax_enable_x64", True)

from mbi import Domain, LinearMeasurement, estimation, junction_tree  # noqa: E402

MEGABYTES, STEPS = 10.0, 200


def counts_of(codes: np.ndarray, sizes: list[int], clique: tuple[int, ...]) -> np.ndarray:
    """Flat counts of a marginal."""
    shape = [sizes[a] for a in clique]
    cell = np.ravel_multi_index(tuple(codes[:, a] for a in clique), shape)
    return np.bincount(cell, minlength=int(np.prod(shape))).astype(float)


def marginal(model, clique: tuple[int, ...], sizes: list[int]) -> np.ndarray:
    """Flat expected counts of a marginal: potentials multiplied, and everything else summed out."""
    operands: list = []
    for key in model.potentials.cliques:
        values = np.asarray(model.potentials[key].values)
        operands += [np.exp(values - values.max()), [int(a) for a in key]]
    found = opt_einsum.contract(*operands, list(clique), optimize="greedy").ravel()
    return found * (float(model.total) / found.sum())


def main() -> None:
    source, target, rho, seed = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
    begin, given = time.process_time(), np.load(source)
    codes, sizes = given["codes"], given["sizes"].tolist()
    d, rng = len(sizes), np.random.default_rng(seed)
    np.random.seed(seed)  # noqa: NPY002 - rows are drawn by it in mbi
    domain = Domain([str(a) for a in range(d)], sizes)
    workload = [(a, b, d - 1) for a, b in itertools.combinations(range(d - 1), 2)]
    subsets = {s for c in workload for r in range(1, 4) for s in itertools.combinations(c, r)}
    candidates = {s: sum(len(set(s) & set(c)) for c in workload) for s in sorted(subsets)}
    rounds = 16 * d
    sigma, epsilon, used = np.sqrt(rounds / (2 * 0.9 * rho)), np.sqrt(8 * 0.1 * rho / rounds), 0.0
    means: dict[tuple[int, ...], tuple[np.ndarray, float]] = {}  # by table, with its precision: as good as all apart
    model, n_rounds = None, 0

    def measure(clique: tuple[int, ...]) -> None:
        noisy = counts_of(codes, sizes, clique) + sigma * rng.standard_normal(int(np.prod([sizes[a] for a in clique])))
        before, known = means.get(clique, (0.0, 0.0))
        whole = known + sigma**-2
        means[clique] = ((known * before + sigma**-2 * noisy) / whole, whole)

    def fitted(before):
        solver = estimation.MirrorDescent()
        measured = [LinearMeasurement(v, tuple(map(str, c)), stddev=w**-0.5) for c, (v, w) in means.items()]
        kept = {"warm_start": before} if before is not None else {}
        try:
            return solver.estimate(domain, measured, iters=STEPS, **kept)
        except TypeError:
            return solver.estimate(domain, measured, iters=STEPS)

    def expected(clique: tuple[int, ...]) -> np.ndarray:
        return marginal(model, clique, sizes)

    for a in range(d):
        measure((a,))
        used += 0.5 / sigma**2
    model = fitted(None)
    while used < rho * (1 - 1e-9):
        if rho - used < 2 * (0.5 / sigma**2 + epsilon**2 / 8):  # the last round has all that is left
            sigma, epsilon = np.sqrt(1 / (2 * 0.9 * (rho - used))), np.sqrt(8 * 0.1 * (rho - used))
        used += 0.5 / sigma**2 + epsilon**2 / 8
        limit = MEGABYTES * min(used / rho, 1.0)
        cliques = [tuple(map(str, c)) for c in means]
        small = {}
        for c, weight in candidates.items():
            names = tuple(str(a) for a in c)
            if any(set(names) <= set(k) for k in cliques) or (
                junction_tree.hypothetical_model_size(domain, [*cliques, names]) <= limit
            ):
                size = np.prod([sizes[a] for a in c])
                off = np.abs(counts_of(codes, sizes, c) - expected(c)).sum() - np.sqrt(2 / np.pi) * sigma * size
                small[c] = weight * off
        scores = np.array(list(small.values()))
        logits = 0.5 * epsilon * scores / max(candidates.values())
        chance = np.exp(logits - logits.max())
        chosen = list(small)[rng.choice(len(scores), p=chance / chance.sum())]
        before = expected(chosen)
        measure(chosen)
        model, n_rounds = fitted(model), n_rounds + 1
        if np.abs(expected(chosen) - before).sum() <= np.sqrt(2 / np.pi) * sigma * len(before):
            sigma, epsilon = sigma / 2, epsilon * 2
    drawn = model.synthetic_data(rows=len(codes))
    table = drawn.to_dict() if hasattr(drawn, "to_dict") else drawn.data
    rows = np.column_stack([np.asarray(table[str(a)]) for a in range(d)])
    pairs = list(itertools.combinations(range(d - 1), 2))
    off = [np.abs(expected(c) / model.total - counts_of(codes, sizes, c) / len(codes)).sum() / 2 for c in pairs]
    np.savez(target, rows=rows, rounds=n_rounds, variation=np.mean(off), cpu_s=time.process_time() - begin)


if __name__ == "__main__":
    main()
