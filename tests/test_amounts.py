"""Tables of amounts: what one row can change, by all neighbours of small data, and the range."""

from itertools import product

import numpy as np
import pytest

from sumwise import DataError, Domain
from sumwise.aggregate import aggregate
from sumwise.amounts import amount_ends
from sumwise.maxent import amount_tables

DOMAIN = Domain({"a": 2, "b": 2})
ENDS = (-1.0, 3.0)
VALUES = (-9.0, -1.0, 0.3, 1.0, 3.0, 50.0)  # two of them are clipped


@pytest.mark.parametrize("count", ["frame", "engine"])
def test_one_row_changes_a_table_by_at_most_one(count):
    def sums(rows):
        frame = {k: np.array([r[i] for r in rows]) for i, k in enumerate(("a", "b", "y"))}
        if count == "frame":
            return amount_tables(frame, ["a", "b"], "y", *ENDS, domain=DOMAIN)["a", "b"].label_sums
        made = aggregate(frame, ["a", "b"], amount="y", amount_range=ENDS, domain=DOMAIN)
        assert made.provenance.max_weight == 1.0
        return made["a", "b"].label_sums

    base = [(0, 0, 0.5), (1, 0, 2.0), (1, 1, -1.0)]
    before, largest = sums(base), 0.0
    rows = list(product((0, 1), (0, 1), VALUES)) if count == "frame" else [(0, 0, v) for v in VALUES]
    for row in rows:
        change = sums([*base, row]) - before
        assert (change >= -1e-12).all()
        assert change.sum() == pytest.approx(1.0)
        assert np.linalg.norm(change) <= 1.0 + 1e-12
        largest = max(largest, np.linalg.norm(change))
    assert largest == pytest.approx(1.0)


@pytest.mark.parametrize("ends", [(1, 1), (2, 1), (0, np.inf), (np.nan, 1), ("low", "high"), (None, 1)])
def test_a_range_that_is_none_is_refused(ends):
    with pytest.raises(DataError, match="range of amounts"):
        amount_ends(*ends)
