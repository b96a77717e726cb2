"""Pictures of the tables, and of similarities; png files beside the JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .similarity import MEANS, SPREADS, similarity

__all__ = ["draw"]

COLOURS = {
    "means": "#999999",
    "moments": "#E69F00",
    "quantiles": "#56B4E9",
    "Fourier": "#0072B2",
    "BOW": "#009E73",
    "Fisher": "#CC79A7",
    "DeepSets": "#D55E00",
    "W1": "#000000",
    "sliced": "#666666",
    "W2": "#444444",
    "Wasserstein": "#000000",
    "marginal": "#0072B2",
    "pyramid": "#8B6914",
    "size-matched": "#B22222",
    "LLP": "#000000",
}
"""One colour per kind of features; what is done with them shows in the line or the marker."""


def draw(tables: dict[str, list[dict]], folder: Path) -> None:
    """Write one picture per table that has rows, and the similarities."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context({"axes.spines.top": False, "axes.spines.right": False, "font.size": 9}):
        for name, rows in tables.items():
            if rows and name in PICTURES:
                _save(PICTURES[name](rows, plt), folder / f"distribution-{name}.png", plt)
        _save(_similarity(plt), folder / "distribution-similarity.png", plt)


def _save(figure: Any, path: Path, plt: Any) -> None:
    figure.savefig(path, dpi=130, bbox_inches="tight")
    plt.close(figure)
    print(f"drawn: {path.name}")


def _style(method: str) -> dict[str, Any]:
    head = method.split(",", maxsplit=1)[0].split(maxsplit=1)[0]
    rest = "kernel" in method, "sigmoid" in method or "shrunk" in method or "max" in method
    line, marker = {(False, False): ("-", "o"), (True, False): ("--", "s")}.get(rest, (":", "^"))
    return {"color": COLOURS.get(head, "#000000"), "linestyle": line, "marker": marker}


def _legend(figure: Any, axes: Any, columns: int = 4) -> None:
    found: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels()):
            found.setdefault(label, handle)
    figure.legend(
        found.values(), found.keys(), loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=columns, frameon=False
    )


def _statistics(rows: list[dict], plt: Any) -> Any:
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.6), layout="constrained")
    for ax, task in zip(axes, ("rotation", "correlation", "rank1", "random")):
        for row in (r for r in rows if r["task"] == task):
            if row["method"] in ("variance", "bayes"):
                if row["all"] and not (row["method"] == "bayes" and task == "rotation"):  # 7e-7: off the scale
                    told = {"variance": "variance of the response", "bayes": "Bayes optimum"}[row["method"]]
                    line = "-" if row["method"] == "bayes" else (0, (1, 2))
                    ax.axhline(row["all"], color="0.5", linewidth=1, linestyle=line, label=told)
                continue
            sizes = sorted(int(k) for k in row if k.isdigit())
            style = _style(row["method"])
            width = 2.2 if row["method"] == "DeepSets" else 1.3
            ax.plot(sizes, [row[str(n)] for n in sizes], label=row["method"], linewidth=width, markersize=3, **style)
        ax.set(xscale="log", yscale="log", title=task, xlabel="training bags")
        ax.set_xscale("log", base=2)
    axes[0].set_ylabel("test mean squared error")
    _legend(figure, axes, 6)
    return figure


def _ridge(rows: list[dict], plt: Any) -> Any:
    tasks = list(dict.fromkeys(r["task"] for r in rows))
    figure, axes = plt.subplots(1, len(tasks), figsize=(5.2 * len(tasks), 3.8), layout="constrained", squeeze=False)
    shown = {
        "linear": ("linear ridge", "o", "#0072B2"),
        "kernel": ("kernel ridge, penalty by leave-one-out", "s", "#009E73"),
        "plain_best": ("scikit-learn, best of the grid", "v", "#E69F00"),
        "plain_worst": ("scikit-learn, worst of the grid", "x", "#D55E00"),
    }
    for ax, task in zip(axes[0], tasks):
        part = [r for r in rows if r["task"] == task]
        for name, (label, marker, colour) in shown.items():
            ax.plot([r[name] for r in part], range(len(part)), marker, color=colour, label=label, markersize=5)
        told = [f"{r['embedding']}, {r['bags']} bags" for r in part]
        ax.set(xscale="log", yticks=range(len(part)), yticklabels=told, title=task, xlabel="test mean squared error")
        ax.invert_yaxis()
        ax.grid(axis="y", color="0.92")
    _legend(figure, axes[0], 2)
    return figure


def _bars(ax: Any, names: list[str], values: list[float], text: list[str]) -> None:
    order = np.argsort(values)[::-1]
    place = range(len(names))
    ax.barh(place, [values[k] for k in order], color=[_style(names[k])["color"] for k in order], height=0.7)
    ax.set(yticks=place, yticklabels=[names[k] for k in order])
    for y, k in zip(place, order):
        ax.annotate(text[k], (values[k], y), xytext=(3, 0), textcoords="offset points", va="center", fontsize=8)


def _gamma(rows: list[dict], plt: Any) -> Any:
    figure, ax = plt.subplots(figsize=(6.5, 0.6 + 0.28 * len(rows)), layout="constrained")
    text = [f"{r['mse']:.3f}, {r['seconds']:.2g} s" for r in rows]
    _bars(ax, [r["method"] for r in rows], [r["over_bayes"] for r in rows], text)
    ax.axvline(1.0, color="0.4", linewidth=1)
    ax.set(xscale="log", xlabel="test error relative to the Bayes optimum of the same draws")
    ax.set_xticks([1, 1.2, 1.5, 2, 5], ["1", "1.2", "1.5", "2", "5"])
    ax.minorticks_off()
    return figure


def _variable(rows: list[dict], plt: Any) -> Any:
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    for name in dict.fromkeys(r["method"] for r in rows):
        part = [r for r in rows if r["method"] == name]
        ax.plot([r["bags of 5"] for r in part], [r["over_bayes"] for r in part], label=name, **_style(name))
    ax.axhline(1.0, color="0.4", linewidth=1)
    ax.set(xticks=[0, 0.25, 0.5], xlabel="share of bags of five", ylabel="test error relative to the Bayes optimum")
    ax.set_yscale("log")
    ax.set_yticks([1, 1.2, 1.5, 2, 3], ["1", "1.2", "1.5", "2", "3"])
    ax.minorticks_off()
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _gaussian(rows: list[dict], plt: Any) -> Any:
    figure, axes = plt.subplots(1, 4, figsize=(12, 4.2), layout="constrained", sharey=True)
    reference = {r["method"]: r for r in rows if r["method"] in ("best possible", "always 0.5")}
    methods = [r for r in rows if r["method"] not in reference]
    for ax, number in zip(axes, "1234"):
        for y, row in enumerate(methods):
            if number in row:
                ax.plot(row[number], y, markersize=6, **{**_style(row["method"]), "linestyle": "none"})
            if f"thesis {number}" in row:
                ax.plot(row[f"thesis {number}"], y, "x", color="0.6", label="thesis")
        for name, line in (("best possible", "-"), ("always 0.5", "--")):
            if number in reference[name]:
                ax.axvline(reference[name][number], color="0.4", linewidth=1, linestyle=line, label=name)
        ax.set(xscale="log", title=f"experiment {number}", xlabel="MSE of the shares of A")
        ax.grid(axis="y", color="0.92")
    axes[0].set(yticks=range(len(methods)), yticklabels=[r["method"] for r in methods])
    axes[0].invert_yaxis()
    _legend(figure, axes, 3)
    return figure


def _clouds(rows: list[dict], plt: Any) -> Any:
    names = list(dict.fromkeys(r["data"] for r in rows))
    figure, axes = plt.subplots(1, len(names), figsize=(4.2 * len(names), 3.5), layout="constrained", squeeze=False)
    for ax, data in zip(axes[0], names):
        for row in (r for r in rows if r["data"] == data):
            sizes = sorted(int(k) for k in row if k.isdigit())
            ax.plot(sizes, [row[str(n)] for n in sizes], label=row["method"], **_style(row["method"]))
        ax.set(xscale="log", title=data, xlabel="points per cloud")
        sizes = sorted({int(k) for r in rows if r["data"] == data for k in r if k.isdigit()})
        ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
        ax.minorticks_off()
    axes[0][0].set_ylabel("accuracy on test clouds")
    _legend(figure, axes[0], 3)
    return figure


def _instances(rows: list[dict], plt: Any) -> Any:
    names = list(dict.fromkeys(r["data"] for r in rows))
    figure, axes = plt.subplots(1, len(names), figsize=(4.5 * len(names), 2.6), layout="constrained", squeeze=False)
    for ax, data in zip(axes[0], names):
        part = [r for r in rows if r["data"] == data]
        for y, r in enumerate(part):
            style = {**_style(r["method"]), "linestyle": "none"}
            ax.errorbar(r["accuracy"], y, xerr=r["se"] or 0.0, capsize=2, **style)
        ax.set(yticks=range(len(part)), yticklabels=[r["method"] for r in part], title=data)
        ax.set_xlabel("accuracy over folds, and its standard error")
        ax.invert_yaxis()
    return figure


def _election(rows: list[dict], plt: Any) -> Any:
    sizes = sorted({r["regions"] for r in rows})
    figure, axes = plt.subplots(1, len(sizes), figsize=(5.4 * len(sizes), 3.8), layout="constrained", squeeze=False)
    for ax, n in zip(axes[0], sizes):
        part = [r for r in rows if r["regions"] == n]
        for y, r in enumerate(part):
            style = {**_style(r["method"]), "linestyle": "none"}
            ax.errorbar(1e4 * r["mse"], y, xerr=1e4 * r.get("sd", 0.0), capsize=2, **style)
            told = f"{r['explained']:.0%}"
            ax.annotate(told, (1.02, y), xycoords=("axes fraction", "data"), va="center", fontsize=8)
        ax.set(yticks=range(len(part)), yticklabels=[r["method"] for r in part], xlabel="test MSE, 1e-4")
        ax.set_title(f"{n} regions", loc="left")
        ax.annotate("explained", (1.02, -0.8), xycoords=("axes fraction", "data"), va="center", fontsize=8)
        ax.set_xlim(left=0)
        ax.invert_yaxis()
    return figure


def _dimension(rows: list[dict], plt: Any) -> Any:
    figure, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
    for row in rows:
        sizes = sorted(int(k.split()[1]) for k in row if k.startswith("mse "))
        spread = [row[f"sd {n}"] for n in sizes]
        found, style = [row[f"mse {n}"] for n in sizes], _style(row["method"])
        ax.errorbar(sizes, found, yerr=spread, capsize=2, label=row["method"], **style)
    ax.set(xscale="log", xlabel="components that rows are reduced to", ylabel="test MSE, sd over trials")
    ax.set_xticks(sizes, [str(n) for n in sizes])
    ax.minorticks_off()
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    return figure


def _subgroups(rows: list[dict], plt: Any) -> Any:
    groups = [r for r in rows if "truth" in r]
    methods = [m for m in groups[0] if m not in ("subgroup", "truth", "draws")]
    figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for k, name in enumerate(methods):
        y = np.arange(len(groups)) + 0.6 * (k / max(1, len(methods) - 1) - 0.5)
        style = {**_style(name), "linestyle": "none"}
        ax.plot([r[name] for r in groups], y, label=name, markersize=5, **style)
    ax.set(yticks=range(len(groups)), yticklabels=[r["subgroup"] for r in groups])
    ax.set(xlabel="mean absolute error of the share of D", xlim=(0, None))
    ax.invert_yaxis()
    ax.grid(axis="x", color="0.92")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _similarity(plt: Any) -> Any:
    """Surfaces over mean and deviation, and cuts through them."""
    found = similarity()
    print(f"similarity: Gaussian surface within {found['gap']:.1e} of its closed form (width {found['width']:.2f})")
    figure, axes = plt.subplots(2, 3, figsize=(12, 7), layout="constrained")
    titles = {
        "Gaussian": "Gaussian mean embedding (2.1)",
        "pyramid": "pyramid match (4.2)",
        "W1": "1-Wasserstein distance (4.5)",
        "W2": "squared 2-Wasserstein distance (4.6)",
    }
    for ax, (name, title) in zip((*axes[0], axes[1][0]), titles.items()):
        surface = found["surfaces"][name]
        near = surface.argmin() if name.startswith("W") else surface.argmax()
        shading = "viridis_r" if name.startswith("W") else "viridis"
        filled = ax.contourf(MEANS, SPREADS, surface, levels=16, cmap=shading)
        ax.contour(MEANS, SPREADS, surface, levels=8, colors="white", linewidths=0.5)
        figure.colorbar(filled, ax=ax)
        i, j = np.unravel_index(near, surface.shape)
        ax.plot(MEANS[j], SPREADS[i], "o", color="#D55E00", markersize=9, label="nearest bag")
        ax.plot(0, 1, "x", color="black", markersize=7, label="the bag itself")
        ax.set(yscale="log", title=title, xlabel="mean", ylabel="standard deviation")
        ax.set_yticks([0.25, 0.5, 1, 2, 4], ["1/4", "1/2", "1", "2", "4"])
        ax.minorticks_off()
    axes[0][0].legend(loc="upper left", fontsize=8)
    _cuts(axes[1][1], axes[1][2], found["surfaces"])
    return figure


def _cuts(by_mean: Any, by_spread: Any, surfaces: dict[str, np.ndarray]) -> None:
    """Similarities relative to that of the bag with itself; distances d as exp(-d)."""
    i, j = int(np.argmin(np.abs(SPREADS - 1))), int(np.argmin(np.abs(MEANS)))
    for k, (name, surface) in enumerate(surfaces.items()):
        similar = np.exp(-surface) if name.startswith("W") else surface / surface[i, j]
        label = {"W1": "exp(-W1)", "W2": "exp(-W2²)"}.get(name, name)
        style = {"color": ("#0072B2", "#8B6914", "#D55E00", "#CC79A7")[k], "linestyle": ("-", "--", "-", "-.")[k]}
        by_mean.plot(MEANS, similar[i], label=label, **style)
        by_spread.plot(SPREADS, similar[:, j], label=label, **style)
    by_mean.set(xlabel="mean (standard deviation 1)", ylabel="similarity relative to itself")
    by_mean.set_title("cut along the mean")
    by_spread.set(xlabel="standard deviation (mean 0)", title="cut along the standard deviation")
    by_spread.set_xscale("log")
    by_spread.set_xticks([0.25, 0.5, 1, 2, 4], ["1/4", "1/2", "1", "2", "4"])
    by_spread.minorticks_off()
    by_spread.axvline(1, color="0.7", linewidth=0.8)
    by_mean.legend(frameon=False)


PICTURES = {
    "statistics": _statistics,
    "ridge": _ridge,
    "gamma": _gamma,
    "variable": _variable,
    "gaussian": _gaussian,
    "clouds": _clouds,
    "instances": _instances,
    "election": _election,
    "dimension": _dimension,
    "subgroups": _subgroups,
}
