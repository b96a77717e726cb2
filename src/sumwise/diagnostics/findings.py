"""Numbers behind figures of estimates beside their truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def finding_numbers(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how far estimates are from the truth, in percent of it; those without a truth, or with 0, are left out.

    Parameters
    ----------
    records : sequence of mappings
        ``what``, ``estimated``, ``truth``, ``low`` and ``high``.

    See Also
    --------
    sumwise.plots.plot_findings : Draws these numbers.

    Examples
    --------
    >>> from sumwise.diagnostics import finding_numbers
    >>> finding_numbers([{"what": "heads", "estimated": 0.6, "truth": 0.5, "low": 0.4, "high": 0.8}])["off"].round(6)
    array([20.])
    """
    known = [r for r in records if r.get("truth")]

    def percent(key: str) -> np.ndarray:
        values = [np.nan if r.get(key) is None else 100 * (r[key] - r["truth"]) / abs(r["truth"]) for r in known]
        return np.array(values, dtype=float)

    return {
        "names": [r["what"] for r in known],
        "off": percent("estimated"),
        "low": percent("low"),
        "high": percent("high"),
    }
