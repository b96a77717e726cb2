"""Draw the figure at the top of the README and of the landing page: totals in, cells with intervals out.

    python docs/draw_overview.py        # writes docs/_static/overview.png, totals.png and cells.png

The landing page has the two halves, one above the other on a phone. Generated precincts with known truth; nothing is
drawn by hand.
"""

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from sumwise import synthetic
from sumwise.ecological import EcologicalEM

STATIC = Path(__file__).parent / "_static"
BLUE, ORANGE = "#0072b2", "#d55e00"


def draw_totals(axes: Any, data: synthetic.Precincts) -> None:
    """What goes in: a dot for every precinct."""
    share, votes = data.margins.row_shares[:, 0], data.margins.col_shares[:, 0]
    axes.scatter(share, votes, s=data.margins.totals / 60, color=BLUE, alpha=0.6, edgecolor="none")
    axes.set(xlabel="share of group 1 among voters", ylabel="share of votes for A", xlim=(0, 1), ylim=(0, 1))
    axes.set_title("In: totals of 120 precincts", loc="left")
    axes.spines[["top", "right"]].set_visible(False)


def draw_cells(axes: Any, data: synthetic.Precincts, est: EcologicalEM) -> None:
    """What comes out: shares with intervals, beside the truth."""
    place = np.arange(est.shares_.size)[::-1]
    names = [f"{g}: {o}" for g in data.margins.row_names for o in data.margins.col_names]
    low, high = est.interval(0.95)
    axes.hlines(place, low.ravel(), high.ravel(), color=BLUE, linewidth=6, alpha=0.35, label="95% interval")
    axes.plot(est.shares_.ravel(), place, "o", color=BLUE, label="estimate")
    truth = data.shares.ravel()
    axes.plot(truth, place, "|", color=ORANGE, markersize=16, markeredgewidth=3, label="truth (generated)")
    axes.set_yticks(place, names)
    axes.set(xlim=(0, 1), xlabel="share of the group")
    axes.set_title("Out: who chose what", loc="left")
    axes.legend(frameon=False, loc="upper right", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Fit, and draw what goes in beside what comes out."""
    data = synthetic.precincts(120, 2, 3, random_state=4)
    est = EcologicalEM().fit(data.margins)
    STATIC.mkdir(exist_ok=True)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=(1, 1.25), layout="constrained")
    draw_totals(left, data)
    draw_cells(right, data, est)
    figure.savefig(STATIC / "overview.png", dpi=110)
    for name in ("totals", "cells"):
        figure, axes = plt.subplots(figsize=(5.0, 3.6), layout="constrained")
        if name == "totals":
            draw_totals(axes, data)
        else:
            draw_cells(axes, data, est)
        figure.savefig(STATIC / f"{name}.png", dpi=150)


if __name__ == "__main__":
    main()
