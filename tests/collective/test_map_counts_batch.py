from itertools import pairwise

import numpy as np
import pytest

from sumwise import DataError, Domain, Table, Tables
from sumwise.collective import TreeModel, map_counts, map_counts_batch
from sumwise.noise import Exact, Gaussian, Laplace, Poisson

pytest.importorskip("torch")

NAMES = [f"t{k}" for k in range(6)]
DOMAIN = Domain(dict.fromkeys(NAMES, 5))


def chain(rng, local=False):
    far = np.abs(np.subtract.outer(np.arange(5), np.arange(5))) * rng.uniform(0.3, 2.0)
    moves = -np.where(far > 2 * far[0, 1], np.inf, far) if local else -far
    steps = [moves + (0.1 * rng.normal(size=(5, 5)) if k else 0.0) for k in range(5)]
    return TreeModel(DOMAIN, list(pairwise(NAMES)), dict(zip(pairwise(NAMES), steps)))


def counted(rng, noise, hidden=1):
    made = [Table(a, noise.sample(rng.multinomial(200, rng.dirichlet(np.ones(5))), rng), noise=noise) for a in NAMES]
    return Tables(made[hidden:], DOMAIN, n=200)


@pytest.mark.parametrize("noise", [Poisson(), Poisson(0.1), Gaussian(3.0), Laplace(4.0)], ids=str)
@pytest.mark.parametrize("local", [False, True], ids=["dense", "local"])
def test_batch_equals_one_after_another(noise, local):
    rng = np.random.default_rng(3)
    models = [chain(rng, local) for _ in range(4)]
    tables = [counted(rng, noise) for _ in range(4)]
    for model, seen, fit in zip(models, tables, map_counts_batch(models, tables, tol=1e-9)):
        alone = map_counts(model, seen, tol=1e-9)
        assert fit.converged
        assert fit.gap <= 1e-8 * abs(fit.objective)
        assert fit.objective == pytest.approx(alone.objective, rel=1e-8)
        assert not fit.history["solved alone"][0]
        for edge in pairwise(NAMES):
            np.testing.assert_allclose(fit.edges[edge], alone.edges[edge], atol=0.05)
        assert map_counts(model, seen, tol=1e-8, start=fit).n_iter <= 2


def test_one_model_serves_all_and_sizes_may_differ():
    rng = np.random.default_rng(0)
    model, tables = chain(rng), [counted(rng, Poisson()) for _ in range(3)]
    fits = map_counts_batch(model, tables, n=[150.0, 200.0, 300.0])
    assert [round(f.nodes["t3"].sum()) for f in fits] == [150, 200, 300]


def test_hard_population_is_solved_alone_and_says_so():
    rng = np.random.default_rng(1)
    model, tables = chain(rng), [counted(rng, Gaussian(1e-4)), counted(rng, Gaussian(3.0))]
    hard, easy = map_counts_batch(model, tables, max_iter=8)
    assert hard.history["solved alone"][0]
    assert hard.converged
    assert not easy.history["solved alone"][0]


def test_refuses_what_it_does_not_take():
    rng = np.random.default_rng(2)
    model, seen = chain(rng), counted(rng, Poisson())
    with pytest.raises(DataError, match="exact counts"):
        map_counts_batch(model, [seen, Tables([Table("t0", [100, 50, 50, 0, 0], noise=Exact())], DOMAIN, n=200)])
    with pytest.raises(DataError, match="2 models for the tables of 1"):
        map_counts_batch([model, model], [seen])
    with pytest.raises(DataError, match="no tables"):
        map_counts_batch(model, [])
    short = Domain({"t0": 5, "t1": 5})
    other = TreeModel(short, [("t0", "t1")], {})
    with pytest.raises(DataError, match="2 times and 5 states"):
        map_counts_batch([model, other], [seen, Tables([Table("t0", np.ones(5), noise=Poisson())], short, n=5)])
    pairs = Tables([Table(("t0", "t1"), np.ones((5, 5)), noise=Poisson())], DOMAIN, n=200)
    with pytest.raises(DataError, match="not a chain"):
        map_counts_batch(model, [pairs])
