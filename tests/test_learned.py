"""What a loaded model has learned fits each other, or is refused by the name of the part."""

from types import SimpleNamespace

import numpy as np
import pytest

from sumwise.errors import DataError
from sumwise.learned import check_learned, check_part

FITTING = {
    "coef_: float k d; mean_: float d": {"coef_": np.zeros((3, 2)), "mean_": np.zeros(2)},
    "theta_: float d+1; coef_: float d": {"theta_": np.zeros(3), "coef_": np.zeros(2)},
    "coef_: float d; used_: int<d *": {"coef_": np.zeros(3), "used_": np.array([0, 2])},
    "names_: len d; n_: size d; width_: number": {"names_": ("a", "b"), "n_": 2, "width_": np.float64(0.5)},
    "bounds_: real 2": {"bounds_": np.array([np.nan, np.inf])},
    "gone_?: float d; here_: bool 1": {"gone_": None, "here_": np.array([True])},
    "model_.names: len d; model_: is SimpleNamespace": {"model_": SimpleNamespace(names=[1])},
    "coef_: float d": {},  # nothing is learned
}
OTHERS = {
    "coef_: float k d; mean_: float d": {"coef_": np.zeros((3, 2)), "mean_": np.zeros(3)},
    "theta_: float d+1; coef_: float d": {"theta_": np.zeros(3), "coef_": np.zeros(3)},
    "coef_: float d; used_: int<d *": {"coef_": np.zeros(3), "used_": np.array([0, 3])},
    "names_: len d; n_: size d": {"names_": ("a", "b"), "n_": 3},
    "width_: number": {"width_": np.nan},
    "mean_: float 2": {"mean_": np.array([0.0, np.nan])},
    "here_: bool 1": {"here_": np.array([1])},
    "text_: float *": {"text_": np.array(["x"])},
    "model_: is Fit": {"model_": SimpleNamespace()},
    "coef_: float d; gone_: float d": {"coef_": np.zeros(2)},
    "table_: len d": {"table_": np.zeros((2, 2))},
}


@pytest.mark.parametrize("rules", FITTING)
def test_parts_that_fit_pass(rules):
    check_learned(SimpleNamespace(**FITTING[rules]), rules)


@pytest.mark.parametrize("rules", OTHERS)
def test_parts_that_do_not_fit_are_refused_by_name(rules):
    with pytest.raises(DataError) as caught:
        check_learned(SimpleNamespace(**OTHERS[rules]), rules)
    assert caught.value.message.split()[0] in rules


def test_lengths_are_shared_between_parts():
    sizes = {"d": 2}
    check_part("coef_", np.zeros((2, 3)), "float d k", sizes)
    assert sizes == {"d": 2, "k": 3}
