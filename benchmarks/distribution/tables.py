"""Tables of what was measured: one function per section, from cells to rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .cells import Store
from .law import law

__all__ = ["TABLES", "TITLES", "show", "with_stored"]

GAMMA = {
    "Gaussian kernel, median width": 0.7497,
    "marginal kernel, median width": 0.5268,
    "pyramid kernel": 0.3698,
    "W1 kernel": 0.2448,
    "DeepSets": 0.2433,
}
GAUSSIAN = {
    "Gaussian kernel, median width": (0.0037, 0.0012, 0.0053, 0.0006),
    "marginal kernel, median width": (0.0038, 0.0007, 0.0006, 0.0004),
    "pyramid kernel, raw counts": (0.0468, 0.0209, 0.0268, 0.0209),
    "W1 kernel": (0.0015, 0.0004, 0.0261, 0.0078),
    "DeepSets": (0.0023, 0.0004, 0.0005, 0.0002),
}
"""What the theses report."""

KINDS = (
    "means", "moments", "quantiles", "Fourier", "BOW", "Fisher", "Gaussian", "marginal", "pyramid", "W1", "sliced",
    "W2", "Wasserstein", "size-matched", "LLP", "DeepSets",
)  # fmt: skip
"""The order of methods in tables."""

TASKS, LEAST_DRAWS = ("rotation", "correlation", "rank1", "random"), 10

TITLES = {
    "statistics": "Population statistics: test MSE by number of training bags (Sun 2019, section 4.3.1)",
    "statistics_draws": "Population statistics, means over draws, and errors relative to the best method's",
    "ridge": "Linear and kernel ridge (thesis figure 4.4); plain: scikit-learn, 6 widths, penalties 1e-12 to 1e-3",
    "gamma": "Gamma, fixed bags, means over seeds (Lemus Gonzalez, section 5.1.1)",
    "variable": "Gamma, variable bags, means over seeds",
    "law": "Gamma bags of Law et al. 2018: minus the log-likelihood of held-out responses, beside published figures",
    "intervals": "Coverage of 90% intervals of new bags, on tasks on which nothing was chosen",
    "gaussian": "Gaussian regions: MSE of the shares of category A (Lemus Gonzalez, section 5.1.2)",
    "clouds": "Point clouds, accuracy (Sun 2019, section 4.3.2)",
    "instances": "Multiple-instance sets, accuracy over folds",
    "election": "Election by region, means over trials (Sun 2019, section 4.3.3)",
    "points": "Election, true and predicted shares of the test regions of one trial",
    "dimension": "Election, 979 regions, by number of components: test MSE, means over trials",
    "subgroups": "Shares of D by subgroup over all regions (Lemus Gonzalez, section 5.2.2)",
}


def show(name: str, rows: list[dict]) -> None:
    """Print a table."""
    if not rows:
        return
    print(f"\n{TITLES[name]}")
    names = list(dict.fromkeys(n for r in rows for n in r))
    shown = [[_text(r.get(n)) for n in names] for r in rows]
    widths = [max(len(n), *(len(s[k]) for s in shown)) for k, n in enumerate(names)]
    for line in [names, *shown]:
        print("  " + "  ".join(text.rjust(w) for text, w in zip(line, widths)))


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _grouped(rows: Iterable[dict], by: tuple[str, ...]) -> dict[tuple, list[dict]]:
    groups: dict[tuple, list[dict]] = {}
    for row in rows:
        groups.setdefault(tuple(row[k] for k in by), []).append(row)
    return groups


def _place(method: str) -> tuple[int, str]:
    """Where a method stands in a table: references first, networks last, a variant behind what it varies."""
    head = method.replace(",", " ").split(maxsplit=1)[0]
    return KINDS.index(head) if head in KINDS else -1, method


def _mean(rows: list[dict], name: str) -> float:
    return float(np.mean([r[name] for r in rows]))


def statistics(store: Store, full: bool) -> list[dict]:
    """One row per task and method, one column per number of bags; the first draw, which has all sizes."""
    rows = []
    first = (r for r in store.rows("statistics") if not r.get("draw"))
    for (task, method), each in _grouped(first, ("task", "method")).items():
        if method == "reference":
            for name in ("variance", "bayes"):
                rows.append({"task": task, "method": name, "all": each[0][name]})
            continue
        by_size = sorted(each, key=lambda r: r["bags"])
        row = {"task": task, "method": method} | {str(r["bags"]): r["mse"] for r in by_size}
        rows.append(row | {"seconds": by_size[-1]["seconds"], "device": by_size[-1]["device"]})
    return sorted(rows, key=lambda r: (TASKS.index(r["task"]), _place(r["method"])))


def statistics_draws(store: Store, full: bool) -> list[dict]:
    """The same over draws, at sizes that ten or more have: means, and the paired ratio to the best method's error."""
    rows = []
    kept = [r for r in store.rows("statistics") if r["method"] != "reference"]
    for (task, bags), each in _grouped(kept, ("task", "bags")).items():
        found = {m: {r.get("draw", 0): r["mse"] for r in part} for (m,), part in _grouped(each, ("method",)).items()}
        found = {m: e for m, e in found.items() if len(e) >= LEAST_DRAWS}
        best = min(found, key=lambda m, found=found: np.mean(np.log(list(found[m].values()))), default=None)
        for method, errors in found.items():
            mean, error = float(np.mean(list(errors.values()))), _error(list(errors.values()))
            row = {"task": task, "bags": bags, "method": method, "mse": mean, "error": error, "draws": len(errors)}
            ratios = [np.log(errors[d] / found[best][d]) for d in errors if d in found[best]]
            spread = None if method == best else _error(ratios)
            rows.append(row | {"times the best": float(np.exp(np.mean(ratios))), "log error": spread})
    return sorted(rows, key=lambda r: (TASKS.index(r["task"]), r["bags"], _place(r["method"])))


def ridge(store: Store, full: bool) -> list[dict]:
    """Means over draws, and the paired ratio of the errors of kernel and linear ridge."""
    rows = []
    for (task, bags, name), each in _grouped(store.rows("ridge"), ("task", "bags", "embedding")).items():
        ratios = [float(np.log(r["kernel"] / r["linear"])) for r in each]
        row = {"task": task, "bags": bags, "embedding": name, "draws": len(each)}
        row |= {k: _mean(each, k) for k in ("linear", "kernel", "plain_best", "plain_worst")}
        row |= {k: max(r[k] for r in each) for k in ("condition", "with_penalty", "condition_widest")}
        row |= {"kernel over linear": float(np.exp(np.mean(ratios))), "log error": _error(ratios)}
        rows.append(row | {k: sum(r[k] for r in each) for k in ("warned", "tried")})
    return rows


def gamma(store: Store, full: bool) -> list[dict]:
    """Means over seeds, beside the thesis' errors."""
    kept = (r for r in store.rows("gamma") if r["rows"] == (1000 if full else 200))
    groups = _grouped(kept, ("method",))
    rows = [_over_bayes(each, {"method": key[0]}) | {"thesis": GAMMA.get(key[0])} for key, each in groups.items()]
    return sorted(rows, key=lambda r: _place(r["method"]))


def variable(store: Store, full: bool) -> list[dict]:
    """Means over seeds, by the share of bags of five."""
    groups = _grouped(store.rows("variable"), ("small", "method"))
    rows = [_over_bayes(each, {"bags of 5": key[0], "method": key[1]}) for key, each in groups.items()]
    return sorted(rows, key=lambda r: (r["bags of 5"], _place(r["method"])))


def _error(values: list[float]) -> float | None:
    """Standard error of a mean."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def _over_bayes(each: list[dict], head: dict) -> dict:
    ratios = [r["mse"] / r["bayes"] for r in each]
    told = {"mse": _mean(each, "mse"), "over_bayes": float(np.mean(ratios)), "error": _error(ratios)}
    told["mse error"] = _error([r["mse"] for r in each])
    told["seconds"] = _mean(each, "seconds")
    return {**head, **told, "device": each[0]["device"], "seeds": len(each)}


def intervals(store: Store, full: bool) -> list[dict]:
    """Coverage and width of 90% intervals by task and method, means over draws."""
    rows = []
    for (task, method), each in _grouped(store.rows("intervals"), ("task", "method")).items():
        row = {"task": task, "method": method, "coverage of 90%": _mean(each, "coverage")}
        row |= {"error": _error([r["coverage"] for r in each]), "least": min(r["least"] for r in each)}
        rows.append(row | {k: _mean(each, k) for k in ("width", "mse", "seconds")} | {"draws": len(each)})
    return rows


def gaussian(store: Store, full: bool) -> list[dict]:
    """One row per method, one column per experiment (means over draws), and the thesis' errors."""
    kept = [r for r in store.rows("gaussian") if r["bags"] == (1000 if full else 300)]
    rows = []
    for (method,), each in _grouped(kept, ("method",)).items():
        found, counts = {}, []
        for (number,), part in sorted(_grouped(each, ("experiment",)).items()):
            counts.append(len(part))
            found |= {str(number): _mean(part, "mse"), f"{number} error": _error([r["mse"] for r in part])}
        thesis = {f"thesis {k + 1}": v for k, v in enumerate(GAUSSIAN.get(method, ()))}
        rows.append({"method": method, **found, **thesis, "draws": min(counts)})
    rows.sort(key=lambda r: _place(r["method"]))
    for name in ("best", "half"):
        found = {str(number): _mean(each, name) for (number,), each in _grouped(kept, ("experiment",)).items()}
        rows.append({"method": {"best": "best possible", "half": "always 0.5"}[name], **found})
    return rows if kept else []


def clouds(store: Store, full: bool) -> list[dict]:
    """One row per data and method, one column per number of points: means over runs, with their standard errors."""
    kept = [r for r in store.rows("clouds") if (r["bags"] in (2000, 3991)) == full]
    rows = []
    for (data, method), each in _grouped(kept, ("data", "method")).items():
        row = {"data": data, "method": method}
        for (points,), runs in sorted(_grouped(each, ("points",)).items()):
            row |= {str(points): _mean(runs, "accuracy"), f"{points} runs": len(runs)}
            row[f"{points} error"] = _error([r["accuracy"] for r in runs])
        row["runs"] = min(value for name, value in row.items() if name.endswith(" runs"))
        rows.append(row | {"seconds": _mean(runs, "seconds"), "device": runs[0]["device"]})
    return sorted(rows, key=lambda r: (r["data"] != "shapes", _place(r["method"])))


def instances(store: Store, full: bool) -> list[dict]:
    """Mean accuracy over folds, with its standard error."""
    kept = (r for r in store.rows("instances") if r["folds"] == (10 if full else 5))
    rows = []
    for (data, method), each in _grouped(kept, ("data", "method")).items():
        found = [r["accuracy"] for r in each]
        rows.append({"data": data, "method": method, "accuracy": float(np.mean(found))})
        spread = float(np.std(found, ddof=1) / np.sqrt(len(found))) if len(found) > 1 else None
        rows[-1] |= {"se": spread, "folds": len(found)}
    return sorted(rows, key=lambda r: (r["data"] != "musk1", _place(r["method"])))


def election(store: Store, full: bool) -> list[dict]:
    """Means over trials, with the standard deviation of the error between trials."""
    kept = [r for r in store.rows("election") if r["rows"] == (500 if full else 60)]
    rows = []
    for (regions, method), each in _grouped(kept, ("regions", "method")).items():
        row = {"regions": regions, "method": method, "mse": _mean(each, "mse"), "explained": _mean(each, "explained")}
        row |= {"sd": float(np.std([r["mse"] for r in each])), "seconds": _mean(each, "seconds")}
        rows.append({**row, "device": each[0]["device"], "trials": len(each)})
    for (regions,), each in _grouped(kept, ("regions",)).items():
        rows.append({"regions": regions, "method": "mean share", "mse": _mean(each, "mean_share"), "explained": 0.0})
    return sorted(rows, key=lambda r: (r["regions"], r["mse"]))


def points(store: Store, full: bool) -> list[dict]:
    """True and predicted shares of the test regions of the first trial (Lemus Gonzalez, Figures 5.3 and 5.4)."""
    kept = [r for r in store.rows("election") if r["rows"] == (500 if full else 60) and "points" in r]
    return [
        {"regions": r["regions"], "method": r["method"], "true": a, "said": b} for r in kept for a, b in r["points"]
    ]


def dimension(store: Store, full: bool) -> list[dict]:
    """One row per method, one column per number of components."""
    kept = [r for r in store.rows("dimension") if r["rows"] == (500 if full else 60)]
    rows = []
    for (method,), each in _grouped(kept, ("method",)).items():
        row: dict[str, Any] = {"method": method}
        for (components,), part in sorted(_grouped(each, ("components",)).items()):
            row[f"mse {components}"] = _mean(part, "mse")
            row[f"sd {components}"] = float(np.std([r["mse"] for r in part]))
        rows.append({**row, "trials": len(part)})
    return rows


def subgroups(store: Store, full: bool) -> list[dict]:
    """One row per subgroup: its mean share, and every method's mean absolute error over elections; then their means."""
    kept = [r for r in store.rows("subgroups") if r["rows"] == (500 if full else 60)]
    by = {m: {r.get("seed", 0): r for r in each} for (m,), each in _grouped(kept, ("method",)).items()}
    truth = by.pop("truth", {})
    seeds = sorted(set(truth).intersection(*by.values())) if by else []
    if not seeds:
        return []
    groups = [k for k in truth[seeds[0]] if ": " in k]
    methods = sorted(by, key=_place)
    wrong = {m: np.array([[abs(by[m][s][g] - truth[s][g]) for g in groups] for s in seeds]) for m in methods}
    rows = [
        {"subgroup": g, "truth": float(np.mean([truth[s][g] for s in seeds]))}
        | {m: float(wrong[m][:, k].mean()) for m in methods}
        for k, g in enumerate(groups)
    ]
    each = {m: wrong[m].mean(axis=1) for m in methods}
    best = min(methods, key=lambda m: each[m].mean())
    rows.append({"subgroup": "mean over groups"} | {m: float(each[m].mean()) for m in methods})
    rows.append({"subgroup": "its standard error"} | {m: _error(each[m]) for m in methods})
    less = {m: float((each[m] - each[best]).mean()) for m in methods}
    rows.append({"subgroup": f"less the error of {best}", **less})
    rows.append(
        {"subgroup": "standard error of that"}
        | {m: None if m == best else _error(each[m] - each[best]) for m in methods}
    )
    return [row | {"draws": len(seeds)} for row in rows]


TABLES: dict[str, Callable[[Store, bool], list[dict]]] = {
    f.__name__: f
    for f in (
        statistics,
        statistics_draws,
        ridge,
        gamma,
        variable,
        law,
        intervals,
        gaussian,
        clouds,
        instances,
        election,
        points,
        dimension,
        subgroups,
    )
}


def with_stored(tables: dict[str, list[dict]], before: dict) -> dict[str, list[dict]]:
    """All tables that have rows: those of this run and, of sections that it was not asked for, the stored ones."""
    found = {name: tables.get(name) or before.get(name) for name in TABLES}
    return {name: rows for name, rows in found.items() if rows}
