"""What is said of classifiers from tables."""

from __future__ import annotations

import pandas as pd

from sumwise.report.text.maxent import _contrasts


def test_contrasts_name_the_widest_attributes_and_leave_rare_levels_out():
    frame = pd.DataFrame(
        {
            "attribute": ["a", "a", "b", "b", "c", "c"],
            "level": ["x", "y", "x", "y", "x", "rare"],
            "people": [50, 50, 50, 50, 99, 1],
            "share": [0.1, 0.2, 0.1, 0.9, 0.5, 1.0],
        }
    )
    assert _contrasts(frame, "yes") == ["yes by b: 90.0% at y, 10.0% at x.", "yes by a: 20.0% at y, 10.0% at x."]
