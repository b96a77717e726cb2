"""The plan of a device's sweep: rows that lie ready are the sums that a site's conditional asks for."""

from itertools import combinations

import numpy as np
import pytest

from sumwise.maxent.kernels import gibbs_device_plan as plans
from sumwise.maxent.kernels.loglinear import layout

TABLES = {
    "pairs": list(combinations(range(5), 2)),
    "triples": [(0, 1, 2), (2, 3), (1, 4)],
    "alone": [(a,) for a in range(5)],
}


def conditional(lay, weights, drawn, code):
    """Log-weight of every level of the drawn attributes given the other codes, one at a time."""
    shape = lay.shape(drawn)
    out = np.zeros(shape)
    for at in np.ndindex(*shape):
        x = list(code)
        for a, v in zip(drawn, at):
            x[a] = v
        for c, clique in enumerate(lay.cliques):
            if set(clique) & set(drawn):
                out[at] += weights[lay.clique_cells(c)[tuple(x[a] for a in clique)]]
    return out.ravel()


def by_plan(site, weights, code):
    """The same, from the plan's rows."""
    total = np.zeros(site.m)
    level = np.arange(site.m)
    for f, first in enumerate(site.first):
        row = first + sum(s * code[a] for a, s in zip(site.attribute[f], site.stride[f]))
        for begin, outer, inner in zip(site.offset[:, row], site.outer_step[:, row], site.inner_step[:, row]):
            if begin >= 0:
                total += weights[begin + level // site.inner * outer + level % site.inner * inner]
    return total


@pytest.mark.parametrize("blocks", [(), ((1, 3),), ((0, 2), (1, 3))])
@pytest.mark.parametrize("tables", ["pairs", "triples", "alone"])
@pytest.mark.parametrize("n_chains", [10, 10**6], ids=["few", "many"])
def test_rows_add_up_to_the_conditional(tables, blocks, n_chains):
    sizes = (3, 2, 5, 4, 1)
    lay = layout(sizes, TABLES[tables])
    rng = np.random.default_rng(0)
    weights = rng.normal(size=lay.n_cells)
    found = plans.sites(lay, blocks, n_chains)
    assert sorted(a for s in found for a in s.drawn) == list(range(5))
    for site in found:
        for _ in range(5):
            code = [int(rng.integers(0, s)) for s in sizes]
            np.testing.assert_allclose(by_plan(site, weights, code), conditional(lay, weights, site.drawn, code))


def test_small_attributes_share_a_factor_where_chains_are_many():
    sizes = (2, 3, 5, 8, 12, 900, 900)
    lay = layout(sizes, list(combinations(range(7), 2)))
    many, few = (plans.sites(lay, (), n)[-1] for n in (10**6, 10))
    assert len(many.first) == 3  # 900 alone, and the five small ones in two
    assert len(few.first) == 6
    assert many.n_rows <= 900 + 2 * plans.FUSED_ROWS
    assert many.width == 912  # whole sectors


def test_small_cliques_are_counted_in_copies():
    lay = layout((3, 200, 100), [(0, 1), (1, 2), (0, 2)])
    found = plans.counting(lay)
    assert found.small.tolist() == [0, 600, -1] or found.small.tolist()[np.argmax(np.diff(lay.starts))] == -1
    assert len(found.small_cells) == 3 * 200 + 3 * 100
    assert (found.stride[:, 1] == 1).all()
