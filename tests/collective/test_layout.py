"""Layout: counts to flat vectors and back."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from collective_cases import random_tree
from messages import raises
from sumwise import DataError, Domain
from sumwise.collective import TreeModel


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("wide", [False, True])
def test_flatten_and_counts_are_inverse(seed, wide):
    model = random_tree(seed)
    layout = model.layout(model.edges if wide else ())
    given = model.sample_tables(30, random_state=seed)
    cells, tables = layout.flatten(given)
    back = layout.counts(cells, tables.__getitem__, 30)
    for a in model.domain:
        np.testing.assert_array_equal(back.nodes[a], given.nodes[a])
    for e in model.edges:
        np.testing.assert_array_equal(back.table(*e), given.edges[e])


def test_layouts_are_kept():
    model = random_tree(2)
    assert model.layout() is model.layout()
    assert model.layout(model.edges) is model.layout([e[::-1] for e in model.edges])


def test_counts_on_moves_that_are_not_stored_are_refused():
    domain = Domain({"a": 2, "b": 2})
    model = TreeModel(domain, [("a", "b")], {("a", "b"): sparse.csr_array(-np.eye(2))})
    with raises(DataError, "individuals-make-moves", 2):
        model.objective({("a", "b"): np.array([[1.0, 2.0], [0.0, 3.0]])})
