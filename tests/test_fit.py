import pytest

from sumwise.errors import DataError, NotConverged
from sumwise.fit import Fit, warn_not_converged


def test_history_becomes_a_frame():
    fit = Fit(objective=1.0, n_iter=2, converged=True, history={"objective": [2.0, 1.0], "step": [1, 2]})
    assert fit.history_frame().shape == (2, 2)
    assert fit.describe()["converged"] is True
    assert "converged" in fit._repr_html_()


def test_history_of_unequal_lengths_is_refused():
    with pytest.raises(DataError, match="different lengths"):
        Fit(history={"a": [1], "b": [1, 2]})


def test_a_fit_is_frozen():
    with pytest.raises(AttributeError):
        Fit().objective = 1.0


def test_early_stop_says_by_how_much():
    with pytest.warns(NotConverged, match=r"Stopped after 10 steps with change 3.0e-02; tol is 1.0e-06. Hint: raise"):
        warn_not_converged(10, 0.03, 1e-6)
    with pytest.warns(NotConverged, match="Hint: add data."):
        warn_not_converged(1, 1.0, 0.1, hint="add data.")
