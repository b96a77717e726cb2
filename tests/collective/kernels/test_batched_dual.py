from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest

from sumwise import Domain, Table, Tables
from sumwise.collective import TreeModel
from sumwise.collective.kernels import batched_dual
from sumwise.collective.kernels.batched_dual import (
    ConjugateGradients,
    Passes,
    Sweeps,
    evaluate,
    gather_batch,
    maximise_batch,
)
from sumwise.collective.observations import observe
from sumwise.noise import Gaussian, Laplace, Poisson

pytest.importorskip("torch")


def problems():
    rng = np.random.default_rng(0)
    names = [f"t{k}" for k in range(4)]
    domain, out = Domain(dict.fromkeys(names, 3)), []
    for noise in (Poisson(), Gaussian(2.0), Laplace(1.0)):
        model = TreeModel(domain, list(pairwise(names)), {e: rng.normal(size=(3, 3)) for e in pairwise(names)})
        tables = [Table(a, rng.integers(0, 9, 3), noise=noise) for a in names[1:]]
        out.append(observe(model, Tables(tables, domain, n=12), None).problem)
    return out


def dense_hessian(batch, point):
    """Columns of the covariance, by products with unit vectors."""
    size = point.cells[0].numel()
    columns = []
    for k in range(size):
        unit = point.g.new_zeros(point.g.shape)
        unit.reshape(len(unit), -1)[:, k] = 1.0
        columns.append(Passes(batch).covariance(point, unit).reshape(len(unit), -1).numpy())
    return np.stack(columns, axis=-1)


def test_pass_and_products_equal_those_of_single_problems():
    given = problems()
    batch = gather_batch(given, "cpu")
    rng = np.random.default_rng(1)
    g = batch.first + batch.seen * 0.1 * batch.first.new_tensor(rng.normal(size=batch.first.shape))
    g = g.clamp(min=0.9 * batch.low.clamp(min=-1e9), max=0.9 * batch.high.clamp(max=1e9))
    point = evaluate(batch, g)
    direction = batch.first.new_tensor(rng.normal(size=batch.first.shape))
    moved = Passes(batch).covariance(point, direction)
    for b, problem in enumerate(given):
        order = problem.paths[0][0]
        tilt = np.zeros((4, 3))
        tilt[order] = -g[b].numpy()
        beliefs, cells, log_z = problem.infer(tilt.ravel())
        np.testing.assert_allclose(point.cells[b].numpy(), cells.reshape(4, 3)[order], rtol=1e-10)
        assert float(point.log_z[b]) == pytest.approx(log_z)
        along = np.zeros((4, 3))
        along[order] = direction[b].numpy()
        wanted = problem.covariance_product(beliefs, cells, along.ravel()).reshape(4, 3)[order]
        np.testing.assert_allclose(moved[b].numpy(), wanted, atol=1e-10)
        n = problem.observations.pick(cells)
        gap, _ = problem.observations.fenchel(-problem.observations.pick(tilt.ravel()), n)
        assert float(point.gap[b]) == pytest.approx(gap, rel=1e-8)


def test_sweeps_solve_the_system():
    batch = gather_batch(problems(), "cpu")
    point = evaluate(batch, batch.first)
    curvature = batch.seen * 2.0
    rhs = batch.seen * batch.first.new_tensor(np.random.default_rng(2).normal(size=batch.first.shape))
    every = batch.total > 0
    system = Sweeps(batch, point, curvature, batch.seen)
    x = ConjugateGradients().solve(system, rhs, batch.total * 0 + 1e-9, every)
    for b, covariance in enumerate(dense_hessian(batch, point)):
        free = batch.seen[b].flatten().numpy()
        full = np.diag(curvature[b].flatten().numpy()) + covariance
        wanted = np.linalg.solve(full[np.ix_(free, free)], rhs[b].flatten().numpy()[free])
        np.testing.assert_allclose(x[b].flatten().numpy()[free], wanted, atol=1e-6)


def tensors_of(found):
    """All tensors of a tensor, of a tuple of them, or of a record of them."""
    if hasattr(found, "copy_"):
        return [found]
    parts = found if isinstance(found, (tuple, list)) else [getattr(found, f.name) for f in fields(found)]
    return [t for part in parts for t in tensors_of(part)]


def test_what_a_gpu_records_and_plays_gives_the_same_counts(monkeypatch):
    """A recorded call reads the tensors of the first calls and overwrites its results, here as on a GPU."""
    batch = gather_batch(problems(), "cpu")
    wanted, certified, steps = maximise_batch(batch, 1e-8, 100)
    assert bool(certified.all())
    played = []

    def record(function):
        out = function()

        def replay():
            played.append(1)
            for old, new in zip(tensors_of(out), tensors_of(function())):
                old.copy_(new)

        return replay, out

    monkeypatch.setattr(batched_dual, "is_recorded", lambda tensor: True)
    monkeypatch.setattr(batched_dual, "record", record)
    found, again, n_steps = maximise_batch(batch, 1e-8, 100)
    assert len(played) > 20
    assert bool((again == certified).all())
    np.testing.assert_array_equal(n_steps.numpy(), steps.numpy())
    for one, other in zip(tensors_of(found), tensors_of(wanted), strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
