"""Pools under dependence: errors of means and sums of bags

From `benchmarks/results/stability.json`: what rows share stays in the pool, what each row has of its own averages out.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt

plt.style.use("sumwise.plots.sumwise")
results = Path(__file__).parents[2] / "benchmarks" / "results" / "stability.json"
cells = json.loads(results.read_text("utf-8"))["distribution"]["cells"]
fig, axes = plt.subplots(1, 4, figsize=(9.5, 3.2), sharey=True)
for ax, axis in zip(axes, dict.fromkeys(cell["axis"] for cell in cells)):
    own = [cell for cell in cells if cell["axis"] == axis]
    for name in ("mean pool", "sum pool", "mean pool, folds of bags", "mean pool, folds of regions"):
        error = [cell[f"{name}, standard error"] for cell in own]
        style = "o-" if "folds" not in name else ":"
        ax.errorbar([cell["level"] for cell in own], [cell[name] for cell in own], error, fmt=style, label=name)
    ax.set(xlabel=axis, ylim=(0, 0.9))
axes[0].set_ylabel("error on other bags,\nrelative to the response's deviation")
axes[0].legend(fontsize=7)
