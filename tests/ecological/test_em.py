"""EcologicalEM: margins, bounds, truth, edges and refusals."""

import numpy as np
import pytest

import public_data
from messages import raises, warns
from sumwise import Margins, synthetic
from sumwise.ecological import Bounds, EcologicalEM
from sumwise.errors import DataError, ModelWarning, NotConverged

TRUE = np.array([[0.7, 0.2, 0.1], [0.15, 0.25, 0.6]])


def precincts(n=40, seed=0, shares=TRUE, rho=0.0, size=400):
    rng = np.random.default_rng(seed)
    rows = np.round(rng.dirichlet(np.ones(len(shares)), n) * rng.uniform(0.5, 1.5, (n, 1)) * size)
    cells = np.zeros((n, *shares.shape))
    for i in range(n):
        for r in range(len(shares)):
            p = rng.dirichlet(shares[r] * (1 - rho) / rho) if rho > 0 else shares[r]
            cells[i, r] = rng.multinomial(int(rows[i, r]), p)
    return Margins(cells.sum(axis=2), cells.sum(axis=1)), cells


METHODS = [{}, {"method": "multinomial"}, {"method": "normal"}]


@pytest.mark.parametrize("options", METHODS)
def test_cells_reproduce_both_margins_inside_the_bounds_near_the_truth(options):
    m, cells = precincts(n=60)
    est = EcologicalEM(max_iter=3000, **options).fit(m)
    counts = est.cells_ * m.rows[:, :, None]
    np.testing.assert_allclose(counts.sum(axis=1), m.cols, atol=1e-6)
    np.testing.assert_allclose(counts.sum(axis=2), m.rows, atol=1e-6)
    bounds = Bounds().fit(m)
    assert (est.cells_ >= bounds.lower_ - 1e-9).all()
    assert (est.cells_ <= bounds.upper_ + 1e-9).all()
    truth = cells.sum(axis=0) / cells.sum(axis=(0, 2))[:, None]
    assert np.abs(est.shares_ - truth).max() < 0.06
    assert est.fit_.converged


def test_overdispersion_is_found():
    close, _ = precincts(n=150, rho=0.0)
    wide, _ = precincts(n=150, rho=0.03)
    found = [EcologicalEM().fit(m).overdispersion_ for m in (close, wide)]
    assert found[0] < 0.003
    assert 0.006 < found[1] < 0.06


@pytest.mark.check
def test_intervals_cover_and_lie_inside_the_bounds():
    hits, total = 0, 0
    for seed in range(12):
        m, cells = precincts(n=40, seed=seed, rho=0.01)
        est = EcologicalEM().fit(m)
        low, high = est.interval(0.95)
        truth = cells.sum(axis=0) / cells.sum(axis=(0, 2))[:, None]
        hits, total = hits + ((low <= truth) & (truth <= high)).sum(), total + truth.size
        assert (low >= est.lower_bound_ - 1e-12).all()
        assert (high <= est.upper_bound_ + 1e-12).all()
    assert hits / total > 0.9  # wider than chance alone asks for: they allow for errors of the model


def test_estimates_intervals_and_differences_are_read_off_the_same_draws():
    m, _ = precincts(rho=0.02)
    est = EcologicalEM().fit(m)
    draws = est.draws()
    np.testing.assert_allclose(draws.mean, est.shares_, atol=1e-4)
    np.testing.assert_array_equal(draws.interval(0.9), est.interval(0.9))
    np.testing.assert_allclose(draws.values.sum(axis=2), 1.0, atol=2e-3)
    sizes = m.rows.sum(axis=0) / m.rows.sum()
    np.testing.assert_allclose(sizes @ draws.values, np.broadcast_to(sizes @ est.shares_, (2000, 3)), atol=0.02)
    gap = draws.difference(("row0", "col0"), ("row1", "col0")).estimate()
    assert float(gap.values) == pytest.approx(est.shares_[0, 0] - est.shares_[1, 0], abs=1e-3)
    wide = float(gap.high - gap.low)  # what one group has too much the other has too little
    assert wide > 0.9 * np.diff(est.interval(0.95), axis=0)[0, :, 0].sum()


def test_homogeneous_empty_and_one_sided_units_are_used_as_they_are():
    m, _ = precincts(n=30)
    rows = np.r_[m.rows, [[50, 0], [0, 70], [0, 0], [30, 30]]]
    cols = np.r_[m.cols, [[50, 0, 0], [0, 10, 60], [0, 0, 0], [60, 0, 0]]]
    est = EcologicalEM().fit(Margins(rows, cols))
    counts = est.cells_ * rows[:, :, None]
    np.testing.assert_allclose(counts.sum(axis=1), cols, atol=1e-6)
    np.testing.assert_allclose(est.cells_[30, 0], [1, 0, 0], atol=1e-9)
    np.testing.assert_allclose(est.cells_[31, 1], [0, 1 / 7, 6 / 7], atol=1e-9)


def test_fractional_counts_and_many_cells_work():
    rng = np.random.default_rng(3)
    cells = rng.gamma(0.3, 5, size=(60, 27, 15))
    m = Margins(cells.sum(axis=2), cells.sum(axis=1))
    with warns(ModelWarning, "bounds-holds-whatever"):
        est = EcologicalEM(max_iter=500, tol=1e-3).fit(m)
    np.testing.assert_allclose((est.cells_ * m.rows[:, :, None]).sum(axis=1), m.cols, atol=1e-6)
    low, high = est.interval()
    assert (low <= est.shares_).all()
    assert (est.shares_ <= high).all()


def test_single_unit_gives_the_bounds():
    with warns(ModelWarning, "bounds-holds-whatever"):
        est = EcologicalEM().fit(Margins([[60, 40]], [[80, 20]]))
    low, high = est.interval(0.9999)
    assert low[0, 0] < 0.7
    assert high[0, 0] > 0.95


def test_swapping_the_sides_hardly_changes_the_table():
    m, _ = precincts(n=60)
    forth = EcologicalEM().fit(m)
    back = EcologicalEM().fit(Margins(m.cols, m.rows))
    assert np.abs(forth.total_ - back.total_.T).sum() / m.rows.sum() < 0.03


def test_early_stop_warns():
    m, _ = precincts()
    with warns(NotConverged, "stopped-after-steps"):
        est = EcologicalEM(max_iter=1, tol=1e-12).fit(m)
    assert not est.fit_.converged


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "magic"}, ("is-takes", "method")),
        ({"prior": -1}, ("must-least", "prior")),
        ({"max_iter": 0}, ("must-least", "max_iter")),
        ({"tol": 0}, ("not-above-zero-2", "tol")),
    ],
)
def test_bad_parameters_are_refused(options, words):
    with raises(DataError, *words):
        EcologicalEM(**options).fit(precincts()[0])


def test_many_units_start_from_some_and_end_at_the_same_answer(monkeypatch):
    m, _ = precincts(n=400, rho=0.01)
    few = EcologicalEM().fit(m)
    monkeypatch.setattr("sumwise.ecological.em.BLOCK", 100)
    many = EcologicalEM().fit(m)
    np.testing.assert_allclose(few.shares_, many.shares_, atol=2e-3)  # it starts elsewhere
    ratio = many.standard_errors_ / few.standard_errors_
    assert 0.9 < ratio.min() <= ratio.max() < 1.1


@pytest.mark.skipif(not public_data.present(), reason=public_data.REASON)
def test_a_contest_of_the_reporting_half_beats_the_published_mean():
    from sumwise import datasets

    errors = []
    for contest in datasets.contests(dataset="NZ_2008")[::10]:
        est = EcologicalEM().fit(contest.margins)
        errors.append(50 * np.abs(est.total_ - contest.total).sum() / contest.total.sum())
    assert np.mean(errors) < 7.0


def test_covariates_remove_aggregation_bias_that_they_explain():
    rng = np.random.default_rng(0)
    z = rng.standard_normal(200)
    share = 1 / (1 + np.exp(-z - 0.5 * rng.standard_normal(200)))
    rows = np.array([rng.multinomial(600, [s, 1 - s]) for s in share])
    lean = 1 / (1 + np.exp(-(np.array([0.4, -0.4])[None] + 0.8 * z[:, None])))
    yes = rng.binomial(rows, lean)
    true = yes.sum(axis=0) / rows.sum(axis=0)
    m = Margins(rows, np.stack([yes.sum(axis=1), (rows - yes).sum(axis=1)], 1), covariates=z[:, None])
    plain, better = (EcologicalEM(covariates=used).fit(m) for used in (None, "all"))
    assert np.abs(plain.shares_[:, 0] - true).max() > 0.1
    assert np.abs(better.shares_[:, 0] - true).max() < 0.04
    assert better.slopes_[0, 0] > 0.2
    assert better.total_.sum(axis=0) == pytest.approx(m.cols.sum(axis=0))


def test_a_second_fit_with_covariates_owes_nothing_to_the_first():
    rng, m = np.random.default_rng(0), precincts()[0]
    one, two = (Margins(m.rows, m.cols, covariates=rng.standard_normal((40, k))) for k in (1, 2))
    est = EcologicalEM(covariates="all").fit(one)
    again, alone = est.fit(two).slopes_, EcologicalEM(covariates="all").fit(two).slopes_
    np.testing.assert_array_equal(again, alone)
    with raises(DataError, "margins-no-covariates"):
        est.fit(m)


def test_covariates_that_are_unknown_flat_or_for_a_classic_method_are_refused():
    m = precincts()[0]
    m = Margins(m.rows, m.cols, covariates=np.ones((40, 1)), covariate_names=["density"])
    with raises(DataError, "there-is-no", "covariate", "age"):
        EcologicalEM(covariates=["age"]).fit(m)
    with raises(DataError, "covariate-same-every", "density"):
        EcologicalEM(covariates="all").fit(m)
    with raises(DataError, "method-does-not"):
        EcologicalEM(method="normal", covariates="all").fit(m)


def noisy_groups(seed=0, n=120, noise=45.0):
    rng = np.random.default_rng(seed)
    true = np.array([rng.multinomial(400, p) for p in rng.dirichlet([2, 2, 2], n)], float)
    cells = np.array([[rng.multinomial(x, p) for x, p in zip(row.astype(int), SHARES)] for row in true])
    rows = np.maximum(true + noise * rng.standard_normal(true.shape), 0.0)
    rows = rows / rows.sum(axis=1, keepdims=True) * 400
    return Margins(rows, cells.sum(axis=1), row_sd=np.full(rows.shape, noise))


SHARES = np.array([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])


def test_noisy_groups_are_corrected_for_attenuation():
    m = noisy_groups()
    apart = SHARES - SHARES.mean(axis=0)
    found = {}
    for corrected in (False, True):
        est = EcologicalEM(row_error="classical" if corrected else "uncorrected").fit(m)
        np.testing.assert_allclose(est.total_.sum(axis=0), m.cols.sum(axis=0), rtol=1e-4)
        found[corrected] = (apart * (est.shares_ - est.shares_.mean(axis=0))).sum() / (apart**2).sum()
    assert found[False] < 0.8
    assert found[True] > 0.9
    assert ((est.row_reliability_ > 0.5) & (est.row_reliability_ < 0.9)).all()


def test_berkson_errors_are_not_corrected_and_widen_intervals():
    m = noisy_groups(n=60)
    taken, exact = EcologicalEM(row_error="berkson").fit(m), EcologicalEM()
    exact.fit(Margins(m.rows, m.cols))
    np.testing.assert_array_equal(taken.shares_, exact.shares_)
    assert (taken.standard_errors_ > exact.standard_errors_).all()
    bias = EcologicalEM(row_error="uncorrected").fit(m)  # its errors hold the attenuation
    assert (taken.standard_errors_ <= bias.standard_errors_).all()
    with raises(DataError, "is-takes", "row_error", "other"):
        EcologicalEM(row_error="other").fit(m)


def test_groups_that_are_mostly_noise_warn():
    m = noisy_groups()
    mostly = Margins(m.rows, m.cols, row_sd=1.9 * m.row_sd)
    with warns(ModelWarning, "row-sd-how"):
        EcologicalEM().fit(mostly)


def test_intervals_that_leave_out_model_error_are_narrower_and_say_so():
    m = noisy_groups(noise=0.0)
    wide, narrow = (EcologicalEM(context=choice).fit(m) for choice in (True, False))
    assert (narrow.standard_errors_ < wide.standard_errors_).all()
    assert (wide.interval_kind, narrow.interval_kind) == ("contextual", "model only")
    assert narrow.slope_deviation_ == 0


def test_covariate_that_follows_from_composition_is_refused():
    known = synthetic.precincts(60, 2, 2, random_state=0).margins
    share = known.rows[:, 0] / known.rows.sum(axis=1)
    for covariate, refused in ((2 - 3 * share, True), (share + np.random.default_rng(0).normal(0, 0.2, 60), False)):
        margins = Margins(known.rows, known.cols, covariates=covariate[:, None], covariate_names=["income"])
        if refused:
            with raises(DataError, "covariate-follows-composition", "income", "1.000"):
                EcologicalEM(covariates="all").fit(margins)
        else:
            EcologicalEM(covariates="all").fit(margins)


@pytest.mark.filterwarnings("ignore:Stopped after")  # such data say next to nothing
def test_shares_in_place_of_counts_are_warned_of():
    m = precincts()[0]
    with warns(ModelWarning, "typical-unit-people"):
        EcologicalEM().fit(Margins(m.row_shares, m.col_shares))
