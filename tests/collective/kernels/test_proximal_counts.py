"""Proximal methods: descent, bounds, and a loss that bends the wrong way."""

from __future__ import annotations

import numpy as np
import pytest

from collective_cases import random_evidence, random_tree
from sumwise.collective.kernels.dual_counts import maximise_dual
from sumwise.collective.kernels.proximal_counts import Run, accelerated_rda, mirror_descent, rda, tuned_rda
from sumwise.collective.observations import observe


def run_of(seed, tol=1e-6, max_iter=2000):
    model = random_tree(seed, levels=3)
    groups = [(a,) for a in model.domain]
    seen = observe(model, random_evidence(model, seed, groups=groups, n=80), None)
    return Run(seen.problem, seen.loss, tol, max_iter), seen


@pytest.mark.parametrize("method", [mirror_descent, rda, tuned_rda, accelerated_rda])
def test_lower_bounds_are_below_the_optimum(method):
    run, seen = run_of(3, max_iter=50)
    found = method(run)
    best = maximise_dual(seen.problem, tol=1e-9)
    assert found.objective >= best.dual - 1e-8
    assert found.objective - found.gap <= best.objective + 1e-8
    assert len(found.history["objective"]) == found.n_iter + 1


def test_mirror_descent_never_rises_on_a_smooth_loss():
    run, _ = run_of(0, tol=1e-12, max_iter=40)
    objective = np.array(mirror_descent(run).history["objective"])
    assert (np.diff(objective) <= 1e-9 * np.abs(objective[1:])).all()


def test_a_loss_that_is_not_convex_is_noticed():
    run, _ = run_of(0, max_iter=30)
    plain = run.loss

    def bent(cells):
        value, gradient = plain(cells)
        return value - 0.05 * float(cells @ cells), gradient - 0.1 * cells

    run.loss = bent
    found = mirror_descent(run)
    assert found.concave
    assert np.isnan(found.gap)
