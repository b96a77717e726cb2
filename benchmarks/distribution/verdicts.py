"""What the tables say about the hypotheses of Sun 2019 (section 4.2), in the numbers that carry it."""

from __future__ import annotations

import numpy as np

__all__ = ["verdicts"]


def verdicts(tables: dict[str, list[dict]]) -> list[str]:
    """Print and return one line per question that the tables can answer."""
    told = []
    for name, speak in (
        ("clouds", _bag_size), ("statistics", _number_of_bags), ("election", _regions), ("dimension", _dimension),
        ("ridge", _linear_or_kernel), ("election", _sigmoid), ("gaussian", _sigmoid_regions),
    ):  # fmt: skip
        if tables.get(name):
            told += speak(tables[name])
    if told:
        print("\nVerdicts")
        for line in told:
            print(f"  {line}")
    return told


def _bag_size(rows: list[dict]) -> list[str]:
    told = []
    for data, n_test in (("shapes", 500), ("ModelNet10", 908)):
        gains = []
        for row in (r for r in rows if r["data"] == data):
            found = [row[n] for n in ("100", "1000", "5000") if n in row]
            error = np.sqrt(sum(p * (1 - p) for p in found[:2]) / n_test)
            if len(found) > 1:
                gains.append(f"{row['method']} {' > '.join(f'{p:.3f}' for p in found)} (se of a gain {error:.3f})")
        if gains:
            told.append(f"H1, large bags help, {data}, 100 > 1,000 (> 5,000) points: {'; '.join(gains)}.")
    return told


def _number_of_bags(rows: list[dict]) -> list[str]:
    told = []
    for task in dict.fromkeys(r["task"] for r in rows):
        part = [r for r in rows if r["task"] == task and r["method"] not in ("variance", "bayes")]
        winners = []
        for n in sorted({int(k) for r in part for k in r if k.isdigit()}):
            there = {r["method"]: r[str(n)] for r in part if str(n) in r}
            if len(there) > 1:
                best = min(there, key=lambda m: there[m])
                winners.append(f"{n} {best} {there[best]:.2g} (DeepSets {there.get('DeepSets', np.nan):.2g})")
        if winners:
            told.append(f"H2, networks win with many bags, {task}, best by bags: {'; '.join(winners)}.")
    return told


def _regions(rows: list[dict]) -> list[str]:
    told = []
    for n in sorted({r["regions"] for r in rows}):
        part = sorted((r for r in rows if r["regions"] == n), key=lambda r: r["mse"])
        order = ", ".join(f"{r['method']} {1e4 * r['mse']:.1f}" for r in part)
        told.append(f"H2 and H3, few bags, {n} regions, MSE in 1e-4, best first: {order}.")
    return told


def _dimension(rows: list[dict]) -> list[str]:
    sizes = sorted(int(k.split()[1]) for k in rows[0] if k.startswith("mse "))
    each = [f"{r['method']} " + " > ".join(f"{1e4 * r['mse ' + str(n)]:.1f}" for n in sizes) for r in rows]
    return [f"H3, MSE in 1e-4 with {' > '.join(str(n) for n in sizes)} components: {'; '.join(each)}."]


def _linear_or_kernel(rows: list[dict]) -> list[str]:
    better = sum(r["kernel"] < r["linear"] for r in rows)
    worst = max(r["plain_worst"] / r["linear"] for r in rows)
    warned, tried = (sum(r[k] for r in rows) for k in ("warned", "tried"))
    high = max(r["condition_widest"] for r in rows)
    mine = max(r["with_penalty"] for r in rows)
    return [
        f"Linear or kernel ridge: with width and penalty by leave-one-out errors kernel ridge is better in {better} of "
        f"{len(rows)} cases. Plain kernel ridge with tiny penalties warns in {warned} of {tried} fits (condition up to "
        f"{high:.1e}) and errs up to {worst:.3g} times as much as linear ridge; the penalised matrix here has a "
        f"condition of at most {mine:.1e}."
    ]


def _sigmoid(rows: list[dict]) -> list[str]:
    told = []
    for n in sorted({r["regions"] for r in rows}):
        found = {r["method"]: r["mse"] for r in rows if r["regions"] == n}
        pairs = [m for m in found if f"{m}, sigmoid" in found]
        if pairs:
            each = "; ".join(f"{m} {1e4 * found[m]:.2f} > {1e4 * found[f'{m}, sigmoid']:.2f}" for m in pairs)
            told.append(f"Linear > sigmoid for shares, {n} regions, MSE in 1e-4: {each}.")
    return told


def _sigmoid_regions(rows: list[dict]) -> list[str]:
    found = {r["method"]: r for r in rows}
    each = []
    for name in (m for m in found if f"{m}, sigmoid" in found):
        for k in "1234":
            if k in found[name] and k in found[f"{name}, sigmoid"]:
                each.append(f"{name} {k}: {1e4 * found[name][k]:.2f} > {1e4 * found[f'{name}, sigmoid'][k]:.2f}")
    head = "Linear > sigmoid for shares of a subgroup, Gaussian regions, MSE in 1e-4"
    return [f"{head}: {'; '.join(each)}."] if each else []
