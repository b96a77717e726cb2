"""Draw the figure at the top of the README and of the landing page: totals in, cells with intervals out.

    python docs/draw_overview.py        # writes docs/_static/overview.png

Generated precincts with known truth; nothing is drawn by hand.
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from sumwise import synthetic
from sumwise.ecological import EcologicalEM

GROUPS, OPTIONS = ("group 1", "group 2"), ("A", "B", "C")


def main() -> None:
    """Fit, and draw what goes in beside what comes out."""
    data = synthetic.precincts(120, 2, 3, random_state=4)
    est = EcologicalEM().fit(data.margins)
    low, high = est.interval(0.95)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=(1, 1.25), layout="constrained")
    share, votes = data.margins.row_shares[:, 0], data.margins.col_shares[:, 0]
    left.scatter(share, votes, s=data.margins.totals / 60, color="#0072b2", alpha=0.6, edgecolor="none")
    left.set(xlabel="share of group 1 among voters", ylabel="share of votes for A", xlim=(0, 1), ylim=(0, 1))
    left.set_title("In: totals of 120 precincts", loc="left")
    place = np.arange(6)[::-1]
    names = [f"{g}: {o}" for g in GROUPS for o in OPTIONS]
    values, ends, truth = est.shares_.ravel(), (low.ravel(), high.ravel()), data.shares.ravel()
    right.hlines(place, *ends, color="#0072b2", linewidth=6, alpha=0.35, label="95% interval")
    right.plot(values, place, "o", color="#0072b2", label="estimate")
    right.plot(truth, place, "|", color="#d55e00", markersize=16, markeredgewidth=3, label="truth (generated)")
    right.set_yticks(place, names)
    right.set(xlim=(0, 1), xlabel="share of the group")
    right.set_title("Out: who chose what", loc="left")
    right.legend(frameon=False, loc="upper right", fontsize=9)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    path = Path(__file__).parent / "_static" / "overview.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
