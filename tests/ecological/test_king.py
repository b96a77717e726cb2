"""King's method as an estimator."""

import numpy as np
import pytest

import public_data
from messages import raises, warns
from sumwise import Margins
from sumwise.ecological import Bounds, King
from sumwise.errors import DataError, ModelWarning, UnknownName

# One of the drawn units is unanimous; the test of that warning asks for it by name.
pytestmark = pytest.mark.filterwarnings("ignore:.*are unanimous:sumwise.errors.ModelWarning")


def counties(n=60, seed=0, homogeneous=True):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.05, 0.95, n)
    b, w = (0.4 + 0.1 * rng.normal(size=n)).clip(0, 1), (0.75 + 0.08 * rng.normal(size=n)).clip(0, 1)
    if homogeneous:
        x[:2] = [0.0, 1.0]
        b[2], w[2] = 1.0, 1.0
    size = rng.uniform(100, 900, n)
    rows = np.stack([x, 1 - x], axis=1) * size[:, None]
    yes = (x * b + (1 - x) * w) * size
    z = rng.normal(size=(n, 1))
    m = Margins(rows, np.stack([yes, size - yes], axis=1), covariates=z, covariate_names=["z"])
    return m, np.array([b @ rows[:, 0] / rows[:, 0].sum(), w @ rows[:, 1] / rows[:, 1].sum()])


def test_cells_add_up_inside_the_bounds_and_intervals_hold_the_truth():
    m, truth = counties()
    est = King(n_draws=300).fit(m)
    counts = est.cells_ * m.rows[:, :, None]
    np.testing.assert_allclose(counts.sum(axis=1), m.cols, atol=1e-6)
    bounds = Bounds().fit(m)
    present = np.broadcast_to(m.rows[:, :, None] > 0, counts.shape)
    assert (est.cells_ >= bounds.lower_ - 1e-9)[present].all()
    assert (est.cells_ <= bounds.upper_ + 1e-9)[present].all()
    assert np.abs(est.shares_[:, 0] - truth).max() < 0.04
    low, high = est.interval(0.999)
    assert (low[:, 0] - 0.02 <= truth).all()
    assert (truth <= high[:, 0] + 0.02).all()
    np.testing.assert_allclose(est.cells_[0, 1, 0], m.col_shares[0, 0])
    np.testing.assert_allclose(est.cells_[1, 0, 0], m.col_shares[1, 0])
    assert est.fit_.converged


def test_totals_weight_units_by_group_size():
    m, _ = counties()
    est = King(n_draws=100).fit(m)
    np.testing.assert_allclose(est.shares_[0, 0], est.cells_[:, 0, 0] @ m.rows[:, 0] / m.rows[:, 0].sum())


def test_same_seed_same_draws():
    m, _ = counties()
    first, second = (King(n_draws=50, random_state=4).fit(m) for _ in range(2))
    np.testing.assert_array_equal(first.draws_, second.draws_)
    assert first.draws(7).values.shape == (7, 2, 2)


def test_covariates_enter_and_unknown_ones_are_refused():
    m, _ = counties()
    est = King(covariates=["z"], n_draws=20).fit(m)
    assert est.phi_.shape == (7,)
    assert King(covariates=([], ["z"]), n_draws=20).fit(m).phi_.shape == (6,)
    with raises(UnknownName, "there-is-no", "q"):
        King(covariates=["q"]).fit(m)
    bare = Margins(m.rows, m.cols)
    with raises(UnknownName, "there-is-no", "z"):
        King(covariates=(None, ["z"])).fit(bare)


def test_assumptions_are_tested_with_a_verdict():
    m, _ = counties(n=100, homogeneous=False)
    est = King(n_draws=50).fit(m)
    found = est.assumptions(m, coordinates=np.random.default_rng(0).uniform(size=(100, 2)), n_permutations=49)
    assert set(found) == {"truncated_normality", "mean_independence", "spatial_independence"}
    assert all(test["p_value"] > 0.001 for test in found.values())
    assert found["mean_independence"]["verdict"] == "no evidence against it"
    with raises(DataError, "lengths-differ-entry", "coordinates"):
        est.assumptions(m, coordinates=np.zeros((3, 2)))


def three_by_three(n=50, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet([1, 1, 1], n) * 300
    true = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])
    cells = rows[:, :, None] * np.array([[rng.dirichlet(30 * p) for p in true] for _ in range(n)])
    return Margins(cells.sum(axis=2), cells.sum(axis=1)), cells.sum(axis=0) / cells.sum(axis=(0, 2))[:, None]


@pytest.mark.check
@pytest.mark.filterwarnings("ignore::sumwise.errors.ModelWarning", "ignore::sumwise.errors.NotConverged")
@pytest.mark.parametrize("strategy", ["iterated", "multivariate"])
def test_larger_tables_by_both_strategies(strategy):
    m, truth = three_by_three(25)
    est = King(strategy=strategy, n_draws=60).fit(m)
    np.testing.assert_allclose((est.cells_ * m.rows[:, :, None]).sum(axis=1), m.cols, atol=1e-6)
    assert np.abs(est.shares_ - truth).max() < 0.12
    assert est.draws_.shape == (60, 3, 3)


@pytest.mark.filterwarnings("ignore:King's model has five")
def test_disagreement_between_decompositions_is_told():
    rng = np.random.default_rng(5)
    rows = rng.dirichlet([3, 3, 3], 12) * 300
    cols = rng.dirichlet([3, 3, 3], 12) * 300
    with warns(ModelWarning, "two-x-decompositions"):
        est = King(n_draws=20).fit(Margins(rows, cols))
    assert est.disagreement_ > 0.05


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"erho": -1}, ("must-least", "erho")),
        ({"strategy": "guess"}, ("is-takes", "strategy")),
        ({"n_draws": 1}, ("must-least", "n_draws")),
        ({"max_iter": 0}, ("must-least", "max_iter")),
    ],
)
def test_bad_parameters_are_refused(options, words):
    with raises(DataError, *words):
        King(**options).fit(counties()[0])


def test_one_outcome_and_covariates_for_tables_are_refused():
    with raises(DataError, "kings-method-needs"):
        King().fit(Margins([[5, 5], [3, 8], [9, 1], [4, 4]], [[10], [11], [10], [8]]))
    m, _ = three_by_three()
    with raises(DataError, "covariates-x-tables"):
        King(covariates=["z"]).fit(m)


@pytest.mark.skipif(not public_data.present(), reason=public_data.REASON)
def test_matproii_has_the_reference_implementation_s_answer():
    from sumwise import datasets

    m = datasets.matproii().margins
    est = King().fit(m)
    np.testing.assert_allclose(est.phi_, [1.2671900, 1.9349556, -1.1149542, -1.3270775, 1.6053564], atol=5e-4)
    np.testing.assert_allclose(est.shares_[:, 0], [0.5712, 0.8178], atol=0.005)


def test_unanimous_units_that_move_the_fit_are_named():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.1, 0.9, 80)
    t = x * np.clip(rng.normal(0.5, 0.05, 80), 0, 1) + (1 - x) * np.clip(rng.normal(0.7, 0.05, 80), 0, 1)
    x, t = np.append(x, rng.uniform(0.4, 0.6, 6)), np.append(t, np.zeros(6))
    sides = [np.stack([1000 * v, 1000 * (1 - v)], axis=1) for v in (x, t)]
    with warns(ModelWarning, "units-unanimous-move", 6, 86):
        King(n_draws=20).fit(Margins(*sides))


def few_units(n, seed):
    """Tables (n, 2, 2) of units whose shares vary about .7 and .3."""
    rng = np.random.default_rng(seed)
    rows = np.array([rng.multinomial(800, rng.dirichlet([1.5, 1.5])) for _ in range(n)])
    shares = np.stack([rng.beta(42, 18, n), rng.beta(18, 42, n)], axis=1)
    first = rng.binomial(rows, shares)
    return np.stack([first, rows - first], axis=2)


def test_few_units_warn():
    cells = few_units(8, 1)
    m = Margins(cells.sum(axis=2), cells.sum(axis=1))
    with warns(ModelWarning, "kings-model-five", 8):
        est = King(n_draws=100).fit(m)
    low, high = est.interval()
    np.testing.assert_allclose((low, high), np.quantile(est.draws_, [0.025, 0.975], axis=0))


@pytest.mark.filterwarnings("ignore:There are 2 units for 4 cells")
def test_two_units_have_the_bounds_as_intervals():
    cells = few_units(2, 0)
    with warns(ModelWarning, "kings-model-five", 2):
        est = King(n_draws=60).fit(Margins(cells.sum(axis=2), cells.sum(axis=1)))
    np.testing.assert_allclose(est.interval(), [est.lower_bound_, est.upper_bound_])
    assert est.draws(500).values.std(axis=0).min() > 0.01


def test_unanimous_units_that_inflate_the_standard_errors_are_named_too():
    rng = np.random.default_rng(5)
    x, n = rng.beta(2, 2, 75), rng.integers(200, 900, 75)
    a = rng.binomial(n, x)
    rates = [np.clip(rng.normal(mean, 0.12, 75), 0, 1) for mean in (0.7, 0.35)]
    yes = rng.binomial(a, rates[0]) + rng.binomial(n - a, rates[1])
    yes[:5] = n[:5]
    with warns(ModelWarning, "units-unanimous-move", 5, 75):
        King(n_draws=50).fit(Margins(np.stack([a, n - a], 1), np.stack([yes, n - yes], 1)))
