"""Tab-PE (Tran et al. 2026, arXiv 2606.08259), written from the paper with the settings of its authors' Adult example.

Run by benchmarks/private_tables.py: python tab_pe_rows.py IN.npz OUT.npz RHO SEED. 1,000 synthetic rows, 29 rounds:
each training row votes for the nearest synthetic row of its class; votes with Gaussian noise (all rounds together have
IN's `mu`) choose those that stay, first by sampling (four rounds, one variation each), then by rank (with three
variations each). A category is drawn anew with a probability that falls from .5 to .01, a number moves by at most that
part of its range. Distances weigh indicators by 1/3 and numbers by 1, as there. The class sizes are taken as public.
"""

import sys
import time

import numpy as np

ROWS, ROUNDS, BY_SAMPLING, VARIATIONS = 1000, 29, 5, 3
FIRST_RATE, LAST_RATE, POWER, CATEGORY_WEIGHT = 0.5, 0.01, 0.2, 1 / 3


def embedded(codes: np.ndarray, sizes: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Numbers in [0, 1], and weighted indicators of categories."""
    parts = []
    for column, size, number in zip(codes.T, sizes, ordered):
        parts.append(column[:, None] / max(size - 1, 1) if number else CATEGORY_WEIGHT * np.eye(size)[column])
    return np.hstack(parts).astype(np.float32)


def votes(rows: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """How many rows have each synthetic row as their nearest; both embedded."""
    half = (drawn**2).sum(axis=1) / 2
    nearest = [np.argmax(part @ drawn.T - half, axis=1) for part in np.array_split(rows, 1 + len(rows) // 4096)]
    return np.bincount(np.concatenate(nearest), minlength=len(drawn)).astype(float)


def varied(codes: np.ndarray, sizes: np.ndarray, ordered: np.ndarray, rate: float, rng) -> np.ndarray:
    """Variations of synthetic rows."""
    out = codes.copy()
    for j, size in enumerate(sizes):
        if ordered[j]:
            moved = codes[:, j] + rng.uniform(-rate, rate, len(codes)) * (size - 1)
            out[:, j] = np.clip(np.round(moved), 0, size - 1)
        else:
            anew = rng.random(len(codes)) < rate
            out[anew, j] = rng.integers(0, size, anew.sum())
    return out


def evolved(rows: np.ndarray, sizes: np.ndarray, ordered: np.ndarray, n: int, scale: float, rng) -> np.ndarray:
    """Synthetic rows of one class."""
    targets, population = embedded(rows, sizes, ordered), rng.integers(0, sizes, (n, len(sizes)))
    for step in range(1, ROUNDS + 1):
        noisy = votes(targets, embedded(population, sizes, ordered)) + scale * rng.standard_normal(len(population))
        rate = FIRST_RATE - (FIRST_RATE - LAST_RATE) * ((step - 1) / (ROUNDS + 1)) ** POWER
        if step < BY_SAMPLING:
            chance = np.maximum(noisy, 0)
            chosen = population[rng.choice(len(population), n, p=chance / chance.sum())]
            population = varied(chosen, sizes, ordered, rate, rng)
        else:
            chosen = population[np.argsort(-noisy)[:n]]
            population = np.vstack([chosen, *(varied(chosen, sizes, ordered, rate, rng) for _ in range(VARIATIONS))])
    return chosen


def main() -> None:
    source, target, _, seed = sys.argv[1:]
    begin, task = time.process_time(), np.load(source)
    codes, sizes, rng = task["codes"], task["sizes"][:-1], np.random.default_rng(int(seed))
    scale, drawn = np.sqrt(ROUNDS) / float(task["mu"]), []
    for label in (0, 1):
        rows = codes[codes[:, -1] == label, :-1]
        n = round(ROWS * len(rows) / len(codes))
        of_class = evolved(rows, sizes, task["ordered"], n, scale, rng)
        drawn.append(np.column_stack([of_class, np.full(n, label)]))
    np.savez(target, rows=np.vstack(drawn), rounds=ROUNDS, cpu_s=time.process_time() - begin)


if __name__ == "__main__":
    main()
