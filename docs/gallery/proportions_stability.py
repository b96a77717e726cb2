"""Counts under dependence: coefficients and their intervals

From `benchmarks/results/stability.json`: above, errors of coefficients of size one; below, what 90% intervals cover.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt

plt.style.use("sumwise.plots.sumwise")
results = Path(__file__).parents[2] / "benchmarks" / "results" / "stability.json"
cells = json.loads(results.read_text("utf-8"))["proportions"]["cells"]
fig, axes = plt.subplots(2, 4, figsize=(9.5, 5), sharey="row", sharex="col")
for column, axis in zip(axes.T, dict.fromkeys(cell["axis"] for cell in cells)):
    for name, label in (("default", "default"), ("remedy", "own intercepts, groups")):
        own = [cell for cell in cells if cell["axis"] == axis and f"error, {name}" in cell]
        for ax, what in zip(column, ("error", "coverage")):
            spread = [cell[f"{what}, {name}, standard error"] for cell in own]
            ax.errorbar([c["level"] for c in own], [c[f"{what}, {name}"] for c in own], spread, fmt="o-", label=label)
    column[1].axhline(0.9, color="grey", linewidth=0.8)
    column[0].set_title(axis)
    column[1].set(xlabel="deviation of the effect", ylim=(0, 1))
axes[0, 0].set_ylabel("mean error of a coefficient")
axes[1, 0].set_ylabel("coverage of 90% intervals")
axes[0, 0].legend(fontsize=7)
