"""What penalties take: the variances they suppose, the scale that a fit suggests, penalties that pull elsewhere."""

from dataclasses import replace

import numpy as np
import pytest

from sumwise import synthetic
from sumwise.maxent import MaxEntClassifier
from sumwise.maxent.effects import effects_of
from sumwise.maxent.kernels.contrastive import Moments
from sumwise.maxent.penalties import penalties_of
from sumwise.maxent.penalty_search import fit_quietly
from sumwise.maxent.shrinkage import suggested_scale, supposed
from sumwise.maxent.sufficient_statistics import sufficient


def test_variances_are_those_of_the_usual_penalties_less_what_large_attributes_raise():
    given, usual = np.array([[2.0, 50.0, 0.0]]), np.array([[4.0, 5.0, 1.0]])
    found = supposed(Moments(np.array([2.0, 0.1, 0.0]), given * [1.0, 3.0, 1.0]), given, usual)
    np.testing.assert_allclose(found.sums, [[1 / 8, 1 / 30, 0.0]])
    np.testing.assert_allclose(found.counts, [0.5, 0.5, 0.0])


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_scale_is_found_where_parameters_tell_and_two_where_they_do_not(scale):
    rng = np.random.default_rng(0)
    sampled, answered = rng.uniform(0.1, 1.0, 4000), rng.uniform(0.5, 2.0, 4000)
    values = rng.standard_normal(4000) * np.sqrt(sampled + scale * answered)
    assert suggested_scale(values, sampled, answered, np.ones(4000)) == pytest.approx(scale, rel=0.1)
    assert suggested_scale(values, sampled, 1e-9 * answered, np.ones(4000)) == pytest.approx(2.0, rel=0.05)


WAYS = {
    "lbfgs": {},
    "steps": {"solver": "steps", "decay": 0.0},
    "device": {"device": "cpu:0", "n_chains": 4000, "max_iter": 150, "random_state": 0},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_penalty_that_pulls_elsewhere_is_a_shifted_one(way):
    """Label sums moved by 2 penalty * centre have the same optimum."""
    if way == "device":
        pytest.importorskip("torch", reason="the extra 'torch' isn't installed")
    tables = synthetic.rows(5000, sizes=[3, 2, 4], rate=0.3, correlation=0.5, random_state=0).tables()
    found, rng = sufficient(tables), np.random.default_rng(1)
    centre = Moments(*(0.5 * rng.standard_normal(v.shape) for v in found.data))
    penalties = penalties_of(found, (50.0, 400.0), 1.0)
    moved = Moments(*(d + 2 * p * c for d, p, c in zip(found.data, penalties, centre)))

    def effects(data, **options):
        model = MaxEntClassifier((50.0, 400.0), rescale=False, **options)
        fit_quietly(model, data, tables, (50.0, 400.0))
        even = [np.full(k, 1.0 / k) for k in found.layout.sizes]
        return np.concatenate(effects_of(found.layout, model.theta_[0], even))

    pulled, plain = effects(replace(found, centre=centre), **WAYS[way]), effects(found)
    np.testing.assert_allclose(pulled, effects(replace(found, data=moved)), atol=0.2 if way == "device" else 0.02)
    assert np.sqrt(np.mean((pulled - plain) ** 2)) > 0.2
