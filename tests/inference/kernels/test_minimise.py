"""Minimisation: SciPy's answer, on one BLAS thread, and the threads as before afterwards."""

import numpy as np
import pytest
from scipy.optimize import minimize
from threadpoolctl import threadpool_info, threadpool_limits

from sumwise.inference.kernels.minimise import minimise


def threads():
    """Of SciPy's BLAS; other packages may have loaded libraries of their own, which may know of no threads."""
    pools = [p for p in threadpool_info() if p["user_api"] == "blas" and "scipy" in p["filepath"]]
    assert pools
    return {pool["num_threads"] for pool in pools}


def test_scipys_answer_on_one_thread():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(30, 20))
    seen = set()

    def loss(x):
        seen.update(threads())
        return 0.5 * np.sum((a @ x - 1) ** 2), a.T @ (a @ x - 1)

    with threadpool_limits(2, "blas"):
        found = minimise(loss, np.zeros(20), jac=True, method="L-BFGS-B", options={"gtol": 1e-9, "ftol": 0.0})
        assert threads() == {2}
    assert seen == {1}
    want = minimize(loss, np.zeros(20), jac=True, method="L-BFGS-B", options={"gtol": 1e-9, "ftol": 0.0})
    np.testing.assert_allclose(found.x, want.x, rtol=1e-6)


def test_threads_are_as_before_after_an_error():
    def loss(x):
        raise ZeroDivisionError

    before = threads()
    with pytest.raises(ZeroDivisionError):
        minimise(loss, np.zeros(2), jac=True, method="L-BFGS-B")
    assert threads() == before
