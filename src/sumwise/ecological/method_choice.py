"""Which method to use on margins by default: the EM, or bounds where the units can't identify a model."""

from __future__ import annotations

from sumwise.ecological.calibration import composition_variance, information
from sumwise.errors import DataError
from sumwise.margins import Margins

# Information below which shares are extrapolated so far that intervals, at their widest, would say little more than the
# bounds; on contests with known truth they hold down to it (benchmarks/ecological_few_units.py).
MIN_INFORMATION = 0.005


def default_method(margins: Margins) -> tuple[str, str]:
    """Return the name of the estimator that `sumwise.advise` and ``sumwise fit`` use on these margins, and why.

    Parameters
    ----------
    margins : Margins

    Returns
    -------
    method : str
        ``"EcologicalEM"``, or ``"Bounds"`` where there is one group or outcome, no more units than groups, or where
        the composition of so few units hardly varies: the number of units beyond that of groups, times the variance
        ratio of their composition, is below 0.005.
    why : str
        The reason, with the facts of the data that it rests on.

    Examples
    --------
    >>> from sumwise import Margins
    >>> from sumwise.ecological import default_method
    >>> method, why = default_method(Margins([[60, 40]], [[80, 20]]))
    >>> method
    'Bounds'
    >>> print(why)
    There is 1 unit for 2 groups: the totals imply bounds, and no regression over units is possible.
    """
    full, n_groups = int((margins.totals > 0).sum()), margins.n_rows
    if full == 0:
        raise DataError("All units are empty.", hint="check the columns that were read.")
    if min(n_groups, margins.n_cols) < 2:
        return "Bounds", "With a single group or outcome, no model adds anything to the bounds."
    units = f"{full} unit{'s' if full > 1 else ''}"
    if full <= n_groups:
        verb = "is" if full == 1 else "are"
        reason = f"There {verb} {units} for {n_groups} groups: the totals imply bounds, and no regression over units"
        return "Bounds", f"{reason} is possible."
    if information(margins.rows) < MIN_INFORMATION:
        spread = composition_variance(margins.rows)
        reason = f"The composition of {units} hardly varies (variance ratio {spread:.2g}): a model would extrapolate."
        return "Bounds", reason
    return (
        "EcologicalEM",
        f"{units}, {n_groups} groups and {margins.n_cols} outcomes: shares of groups are estimated over all units.",
    )
