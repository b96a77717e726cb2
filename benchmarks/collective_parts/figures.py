"""Figures 2.4 d-e and 2.6 to 2.9 of Sun (2019), drawn from the rows of `collective_learning.py`."""

from __future__ import annotations

import numpy as np

__all__ = ["draw_courses", "draw_mobility", "draw_scatter"]

WIDTH, HEIGHT, DPI = 4.6, 3.9, 120


def axes_of(n):
    """A figure of n panels, or None without matplotlib."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        return None, []
    drawn, axes = plt.subplots(1, n, figsize=(WIDTH * n, HEIGHT), squeeze=False, layout="constrained")
    return drawn, list(axes[0])


def draw_courses(rows, path):
    """Relative error of the weights against CPU seconds: one panel per grid and weights, one line per E step."""
    rows = [r for r in rows if r.get("course")]
    panels = list(dict.fromkeys((r["side"], r["weights"]) for r in rows))
    drawn, axes = axes_of(max(len(panels), 1))
    names = list(dict.fromkeys(r["E step"] for r in rows))
    for ax, (side, weights) in zip(axes, panels):
        for row in rows:
            if (row["side"], row["weights"]) != (side, weights):
                continue
            seconds, errors = np.array(row["course"]).T
            color = f"C{names.index(row['E step'])}"
            ax.plot(np.maximum(seconds, 1e-2), errors, color=color, marker=".", markersize=3, linewidth=1)
            ax.plot(max(seconds[-1], 1e-2), errors[-1], "o", color=color, label=row["E step"])
        ax.set(xscale="log", yscale="log", xlabel="CPU seconds", ylabel="relative error of the weights")
        ax.set_title(f"{side} x {side}, weights from {weights}")
    if drawn is not None:
        shown = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels())}
        axes[-1].legend(shown.values(), shown, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        drawn.savefig(path, dpi=DPI)


def draw_mobility(rows, path):
    """Pairwise and node MAE against the scale of the noise (Figure 2.8)."""
    drawn, axes = axes_of(2)
    for ax, name in zip(axes, ("pairwise", "node")):
        for kind, marker in (("moves", "o"), ("places", "s")):
            part = sorted((r for r in rows if r["observations"] == kind), key=lambda r: r["b"])
            ax.loglog([r["b"] for r in part], [r[f"{name} MAE"] for r in part], marker=marker, label=f"EM from {kind}")
        part = sorted((r for r in rows if r.get(f"baseline {name}")), key=lambda r: r["b"])
        ax.loglog([r["b"] for r in part], [r[f"baseline {name}"] for r in part], marker="^", label="ignoring the noise")
        ax.set(xlabel="scale b of the noise", ylabel=f"{name} MAE")
        ticks = sorted({r["b"] for r in rows})
        ax.set_xticks(ticks, [f"{b:g}" for b in ticks])
        ax.minorticks_off()
    if drawn is not None:
        axes[0].legend(frameon=False)
        drawn.savefig(path, dpi=DPI)


def draw_scatter(truth, found, path):
    """Found against true counts: the noisy ones in full, then all in the range of the last (Figure 2.9)."""
    drawn, axes = axes_of(len(found) + 1)
    first = next(iter(found))
    panels = [(first, found[first]), *found.items()]
    top = 1.05 * max(truth.max(), *(x.max() for name, x in found.items() if name != first))
    for k, (ax, (name, x)) in enumerate(zip(axes, panels)):
        ax.plot(truth, x, ".", markersize=3, alpha=0.5)
        ax.axline((0, 0), slope=1, color="0.6", linewidth=0.8)
        ax.set(xlabel="true count", ylabel="count", title=f"{name}, in the same range" if k == 1 else name)
        if k:
            ax.set(xlim=(-0.05 * top, top), ylim=(-0.05 * top, top))
    if drawn is not None:
        drawn.savefig(path, dpi=DPI)
