"""Similarity of normal bags against their mean and their standard deviation, kernel by kernel."""

from __future__ import annotations

from typing import Any

from sumwise.plots.labels import axes_or_new

STYLES = ("-", "--", "-.", ":")


def plot_similarity(numbers: Any, varied: str = "mean", ax: Any = None) -> Any:
    """Draw one line per kernel.

    Parameters
    ----------
    numbers : frame
        From `sumwise.diagnostics.similarity_numbers`.
    varied : {"mean", "deviation"}, default "mean"
        What runs along the axis; deviations on a logarithmic one.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    See Also
    --------
    sumwise.diagnostics.similarity_numbers : The numbers behind this figure.

    Examples
    --------
    >>> from sumwise.diagnostics import similarity_numbers
    >>> from sumwise.distribution import WassersteinKernel
    >>> from sumwise.plots import plot_similarity
    >>> plot_similarity(similarity_numbers({"W2": WassersteinKernel()}), "deviation").get_xlabel()
    'standard deviation of the other bag'
    """

    from sumwise import checks

    checks.choice(varied, "varied", ("mean", "deviation"))
    ax = axes_or_new(ax, 6, 4)
    part = numbers[numbers["varied"] == varied]
    for k, (name, line) in enumerate(part.groupby("kernel", sort=False)):
        ax.plot(line["value"], line["similarity"], STYLES[k % len(STYLES)], color=f"C{k}", label=name)
    names = {"mean": "mean of the other bag", "deviation": "standard deviation of the other bag"}
    ax.set(xlabel=names[varied], ylabel="similarity to the standard normal bag")
    if varied == "deviation":
        ax.set_xscale("log", base=2)
    ax.legend()
    return ax
