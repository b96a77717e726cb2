"""Chains start where the observations allow, or say that they can't."""

import numpy as np
import pytest

from sumwise import Domain, Table, Tables
from sumwise.collective import TreeModel
from sumwise.collective.kernels.table_chain import CycleChain, NoStart, PathChain, impossible
from sumwise.collective.observations import observe
from sumwise.collective.trellis import walk_of
from sumwise.noise import Exact, Poisson

DOMAIN = Domain({"t0": 3, "t1": 3, "t2": 3})
MODEL = TreeModel(DOMAIN, [("t0", "t1"), ("t1", "t2")], {("t0", "t1"): np.eye(3), ("t1", "t2"): -np.eye(3)})


def trellis(tables, n=40):
    seen = observe(MODEL, Tables(tables, DOMAIN), n)
    return walk_of(seen, MODEL, np.zeros(seen.problem.observations.size)).trellis


@pytest.mark.parametrize("kind", [PathChain, CycleChain])
def test_exact_and_rare_counts_are_met_from_the_start_on(kind):
    tables = [Table("t0", [1, 38, 1], noise=Exact()), Table("t2", [38, 1, 1], noise=Poisson())]
    t = trellis(tables)
    chain = kind(t, 40, np.random.default_rng(0))
    for _ in range(20):
        assert chain.counts[:3].tolist() == [1, 38, 1]
        assert impossible(t, chain.counts) == 0
        chain.sweep()


@pytest.mark.parametrize("kind", [PathChain, CycleChain])
def test_impossible_evidence_is_told(kind):
    t = trellis([Table("t0", [1, 38, 1], noise=Exact()), Table("t1", [38, 1, 1], noise=Exact())])
    y = t.y.copy()
    y[0] = 1.5  # no whole number
    with pytest.raises(NoStart) as caught:
        kind(t._replace(y=y), 40, np.random.default_rng(0))
    assert caught.value.missed >= 1
