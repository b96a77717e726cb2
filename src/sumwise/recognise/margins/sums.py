"""Which columns add up: runs of neighbours with equal sums, shares that sum to one, rows that are sums of others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sumwise.frames.margins import rounding
from sumwise.recognise.profile_file import Column

AGREE = 0.8  # of the rows must have equal sums; in the others somebody made a mistake
MOST = 80  # columns that are searched
MANY = 50  # people, both sides counted, in a row that can't be the sum of others by chance


@dataclass(frozen=True)
class Family:
    """Runs of columns with the same sum in nearly every row, and a column that holds that sum."""

    runs: list[list[Column]]
    total: Column | None


def matrix(columns: list[Column]) -> np.ndarray:
    """The numbers of columns, (rows, columns); NaN where there is none."""
    return np.column_stack([c.amounts for c in columns]) if columns else np.zeros((0, 0))


def sums(columns: list[Column]) -> np.ndarray:
    """The sum of columns in every row."""
    return matrix(columns).sum(axis=1)


def clean_rows(columns: list[Column]) -> np.ndarray:
    """Rows in which every column has a number that can be a count."""
    values = matrix(columns)
    return np.asarray(~np.isnan(values).any(axis=1) & ~(values < 0).any(axis=1))


def families(columns: list[Column], rows: np.ndarray) -> list[Family]:
    """Families of runs of neighbouring columns with equal sums, those with the fewest columns first."""
    columns = columns[:MOST]
    if len(columns) < 3 or rows.sum() < 2:
        return []
    values = matrix(columns)[rows]
    running = np.hstack([np.zeros((len(values), 1)), np.cumsum(values, axis=1)])
    runs = [(i, j) for i in range(len(columns)) for j in range(i + 2, len(columns) + 1)]
    scale = max(1.0, float(values.max()))
    found: dict[tuple, list[tuple[int, int]]] = {}
    for part in range(3 if len(values) >= 9 else 1):  # a row with a mistake spoils one part of three
        some = slice(part, None, 3) if len(values) >= 9 else slice(None)
        for i, j in runs:
            total = running[some, j] - running[some, i]
            if total.any():
                found.setdefault((part, np.round(total / scale, 9).tobytes()), []).append((i, j))
    made: dict[tuple, Family] = {}
    for same in found.values():
        family = _family(columns, values, running, same, rows)
        if family is not None:
            made.setdefault(tuple(tuple(c.name for c in run) for run in family.runs), family)
    return sorted(made.values(), key=lambda f: (f.total is None, sum(len(run) for run in f.runs)))


def _family(
    columns: list[Column], values: np.ndarray, running: np.ndarray, same: list[tuple[int, int]], rows: np.ndarray
) -> Family | None:
    target = running[:, same[0][1]] - running[:, same[0][0]]
    total = next((c for k, c in enumerate(columns) if _equal(values[:, k], target)), None)
    good = [(i, j) for i, j in same if _equal(running[:, j] - running[:, i], target)]
    good = [(i, j) for i, j in good if total is None or total not in columns[i:j]]
    good = [(i, j) for i, j in good if not _holds_its_sum(values[:, i:j])]
    wrong = {(i, j): _agreement(running[:, j] - running[:, i], target) < 1 for i, j in good}
    # Runs that don't overlap, the first ones given first, in the order of the file
    runs = sorted(good, key=lambda run: (wrong[run], run[1] - run[0], run[0]))
    kept: list[tuple[int, int]] = []
    for i, j in runs:
        if all(j <= a or b <= i for a, b in kept):
            kept.append((i, j))
    apart = sorted(kept)
    if len(apart) < (2 if total is None else 1):
        return None
    aims = [_aim(running, apart, k, None if total is None else total.amounts[rows]) for k in range(len(apart))]
    taken = {c.name for i, j in apart for c in columns[i:j]} | ({total.name} if total is not None else set())
    return Family([_extended(columns, running, run, aim, taken) for run, aim in zip(apart, aims)], total)


def _aim(running: np.ndarray, runs: list[tuple[int, int]], k: int, total: np.ndarray | None) -> np.ndarray:
    """What a run should sum to: the total, or another run."""
    i, j = runs[k - 1]
    return running[:, j] - running[:, i] if total is None else total


def _extended(
    columns: list[Column], running: np.ndarray, run: tuple[int, int], aim: np.ndarray, taken: set[str]
) -> list[Column]:
    """A run with a neighbour or two that make it right in more rows: a small party that few rows have."""
    i, j = run
    best = (_agreement(running[:, j] - running[:, i], aim), i, j)
    for a, b in ((i, j + 1), (i - 1, j), (i, j + 2), (i - 1, j + 1), (i - 2, j)):
        if a < 0 or b > len(columns) or {c.name for c in [*columns[a:i], *columns[j:b]]} & taken:
            continue
        found = _agreement(running[:, b] - running[:, a], aim)
        if found > best[0]:
            best = (found, a, b)
    return columns[best[1] : best[2]]


def _agreement(a: np.ndarray, b: np.ndarray) -> float:
    return float((np.abs(a - b) <= 1e-6 * np.maximum(np.abs(a), np.abs(b))).mean())


def _holds_its_sum(values: np.ndarray) -> bool:
    """Whether a run of columns holds the sum of its other columns: a total, and no side."""
    if values.shape[1] < 3:
        return False
    whole = values.sum(axis=1)
    return any(_equal(2 * values[:, k], whole) for k in range(values.shape[1]))


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    return _agreement(a, b) >= AGREE


def nested_sums(columns: list[Column], rows: np.ndarray, most: int = 8) -> list[tuple[Column, list[Column]]]:
    """Columns that are the sum of those just before or just after them, and are exceeded by some other column.

    A column that no other exceeds counts everybody, and is no part of a side anyhow.
    """
    columns = columns[:MOST]
    if len(columns) < 3 or rows.sum() < 2:
        return []
    values = matrix(columns)[rows]
    found: list[tuple[Column, list[Column]]] = []
    for k, whole in enumerate(columns):
        others = np.delete(values, k, axis=1)
        if ((values[:, [k]] >= others).all(axis=1)).mean() >= AGREE or not values[:, k].any():
            continue
        spans = [(k - m, k) for m in range(2, most + 1)] + [(k + 1, k + 1 + m) for m in range(2, most + 1)]
        for i, j in spans:
            inside = i >= 0 and j <= len(columns)
            part = values[:, i:j] if inside else values[:, :0]
            if inside and _equal(part.sum(axis=1), values[:, k]) and (part.sum(axis=0) > 0).sum() > 1:
                found.append((whole, columns[i:j]))
                break
    return found


def whole_runs(shares: list[Column], rows: np.ndarray, whole: float) -> list[list[Column]]:
    """Neighbouring columns that sum to the whole, but for rounding, in nearly every row."""
    runs, i = [], 0
    while i < len(shares):
        for j in range(i + 2, min(i + 12, len(shares)) + 1):
            share = _whole_share(shares[i:j], rows, whole)
            if share >= AGREE:
                more = [k for k in (j + 1, j + 2) if k <= len(shares)]
                best = max([j, *more], key=lambda k: (_whole_share(shares[i:k], rows, whole), -k))
                runs.append(shares[i:best])
                i = best - 1
                break
        i += 1
    return runs


def _whole_share(shares: list[Column], rows: np.ndarray, whole: float) -> float:
    """In what share of the rows some columns sum to the whole."""
    values = matrix(shares)[rows] / whole
    return float((np.abs(values.sum(axis=1) - 1) <= rounding(values)).mean()) if len(values) else 0.0


def sums_of_others(columns: list[Column], rows: np.ndarray) -> list[int]:
    """The row, if any, that is the sum of all other rows in every column."""
    values = matrix(columns)[rows]
    if len(values) < 4:
        return []
    i = int(np.argmax(values.sum(axis=1)))
    same = np.allclose(2 * values[i], values.sum(axis=0), rtol=1e-6, atol=2e-3 * values[i].max())
    return [int(np.flatnonzero(rows)[i])] if same and (values[i] > 0).sum() > 1 else []


def adds_up(amounts: np.ndarray, key: np.ndarray, total: np.ndarray, parts: np.ndarray) -> bool:
    """Whether the rows of totals are, for each value of a key, the sum of the rows that are their parts."""
    own: Any = pd.Series(amounts[total]).groupby(key[total]).sum()
    rest: Any = pd.Series(amounts[parts]).groupby(key[parts]).sum()
    return np.allclose(rest.reindex(own.index, fill_value=0.0), own, rtol=1e-6)


def subtotals(columns: list[Column], rows: np.ndarray) -> list[int]:
    """Rows that are the sum of the rows just above them, or just below, in every column: of an area, say.

    It holds many people, and two columns or more that aren't 0: small units may be sums of others by chance.
    """
    where = np.flatnonzero(rows)
    values = matrix(columns)[where]
    if len(values) < 4 or values.shape[1] < 3:
        return []
    above = _sums_of_stretches(values)
    below = [len(values) - 1 - i for i in _sums_of_stretches(values[::-1])]
    return sorted(where[max(above, below, key=len)].tolist())


def _sums_of_stretches(values: np.ndarray) -> list[int]:
    """Rows that are the sum of all rows since the last such row."""
    whole = values.sum(axis=1)
    running = np.vstack([np.zeros(values.shape[1]), np.cumsum(values, axis=0)])
    total = running.sum(axis=1)
    found: list[int] = []
    start, before = 0, np.zeros(values.shape[1])
    for i in range(len(values)):
        if i - start < 2 or abs(total[i] - before.sum() - whole[i]) > 1e-6 * max(whole[i], 1.0) or whole[i] < MANY:
            continue
        same = np.allclose(running[i] - before, values[i], rtol=1e-6, atol=1e-6 * whole[i])
        several = (values[start:i].sum(axis=1) > 0).sum() > 1 and (values[i] > 0).sum() > 1
        if same and several:
            found.append(i)
            start, before = i + 1, running[i + 1]
    return found


def parts_of(run: list[Column], wholes: list[Column], rows: np.ndarray) -> list[tuple[list[Column], Column]]:
    """Stretches of a run that sum to one of some columns each: the cells of a table that is known."""
    found, i = [], 0
    while i < len(run):
        for j in range(i + 1, len(run) + 1):
            target = next((w for w in wholes if _equal(sums(run[i:j])[rows], w.amounts[rows])), None)
            if target is not None and j - i > 1:
                found.append((run[i:j], target))
                i = j - 1
                break
        i += 1
    return found
