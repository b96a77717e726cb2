import pytest

from messages import raises, warns
from sumwise.errors import DataError, NotConverged
from sumwise.fit import Fit, warn_not_converged


def test_history_becomes_a_frame():
    fit = Fit(objective=1.0, n_iter=2, converged=True, history={"objective": [2.0, 1.0], "step": [1, 2]})
    assert fit.history_frame().shape == (2, 2)
    assert fit.describe()["converged"] is True
    assert "onverged" in fit._repr_html_()


def test_history_of_unequal_lengths_is_refused():
    with raises(DataError, "history-entries-different"):
        Fit(history={"a": [1], "b": [1, 2]})


def test_a_fit_is_frozen():
    with pytest.raises(AttributeError):
        Fit().objective = 1.0


def test_early_stop_says_by_how_much():
    with warns(NotConverged, "stopped-after-steps", 10, "change", "3.0e-02", "1.0e-06", "raise"):
        warn_not_converged(10, 0.03, 1e-6)
    with warns(NotConverged, "stopped-after-steps", "add"):
        warn_not_converged(1, 1.0, 0.1, hint="add data.")


def test_notebooks_show_how_a_fit_ended():
    assert (
        "Converged after 3 iterations. The objective is 1.5."
        in Fit(objective=1.5, n_iter=3, converged=True)._repr_html_()
    )
    short = Fit(objective=2.0, gap=0.25, n_iter=1, converged=False)._repr_html_()
    assert "Stopped after 1 iteration, before it converged." in short
    assert "at most 0.25 from the optimum" in short
