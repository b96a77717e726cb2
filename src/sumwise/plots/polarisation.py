"""How far every group is from everybody else, per outcome."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.plots.grouped_rows import grouped_rows, rows_height
from sumwise.plots.labels import axes_or_new, tips


def polarisation_numbers(findings: Any) -> dict[str, Any]:
    """Return the difference between every group and all others, per outcome, with intervals.

    Parameters
    ----------
    findings : VotingPatterns
        From `sumwise.voting.voting_patterns`.

    See Also
    --------
    sumwise.plots.plot_polarisation : Draws these numbers.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.plots import polarisation_numbers
    >>> from sumwise.ecological import EcologicalEM
    >>> from sumwise.voting import voting_patterns
    >>> found = voting_patterns(EcologicalEM().fit(synthetic.precincts(40, random_state=0).margins))
    >>> polarisation_numbers(found)["gap"].shape
    (2, 2)
    """
    estimate = findings.polarisation
    groups, outcomes = estimate.labels
    low, high = estimate.interval
    return {
        "gap": estimate.values,
        "low": low,
        "high": high,
        "groups": groups,
        "outcomes": outcomes,
        "level": findings.level,
    }


def plot_polarisation(numbers: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw what `polarisation_numbers` returns: one line per group and outcome around zero.

    Parameters
    ----------
    numbers : mapping
        ``gap``, ``low``, ``high``, ``groups``, ``outcomes``, ``level``; or ``labels``, one for every gap, in place of
        groups and outcomes. Perhaps ``label``, what the gaps are.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.plots.polarisation_numbers : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise.plots import plot_polarisation
    >>> numbers = {"gap": [[0.2]], "low": [[0.1]], "high": [[0.3]], "groups": ["a"], "outcomes": ["x"], "level": 0.95}
    >>> plot_polarisation(numbers).get_xlabel()
    'group less all others (percentage points)'
    """

    gap, low, high = (np.asarray(numbers[k], dtype=float) for k in ("gap", "low", "high"))
    listed = numbers.get("labels")  # one for every gap; without them, groups and outcomes
    groups, outcomes = (listed, [""]) if listed else (numbers["groups"], numbers["outcomes"])
    ax = axes_or_new(ax, 6.5, rows_height(len(groups), len(outcomes)))
    y, colours = (part.ravel() for part in grouped_rows(ax, groups, outcomes))
    gap, low, high = gap.ravel(), low.ravel(), high.ravel()
    ax.axvline(0, color="0.4", linewidth=1, linestyle="--")
    ax.hlines(y, low, high, color=colours.tolist(), linewidth=2)
    sure = (low > 0) | (high < 0)
    names = [f"{g}: {o}".removesuffix(": ") for g in groups for o in outcomes]
    dots = ax.scatter(gap, y, s=38, zorder=3, edgecolors=colours.tolist(), c=np.where(sure, colours, "white").tolist())
    rows = zip(names, gap, low, high)
    tips(dots, [f"{n} {100 * g:+.1f} points ({100 * a:+.1f} to {100 * b:+.1f})" for n, g, a, b in rows])
    widest = max(0.1, float(np.nanmax(np.abs([low, high]))))
    ax.set(
        xlim=(-1.12 * widest, 1.12 * widest), xlabel=numbers.get("label", "group less all others (percentage points)")
    )
    ax.xaxis.set_major_formatter(lambda v, _: "0" if abs(v) < 0.005 else f"{100 * v:+.0f}".replace("-", "\u2212"))
    return ax
