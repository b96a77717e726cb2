"""Learning the individual model: known weights come back, F never increases, a killed fit goes on."""

import warnings
from itertools import pairwise

import numpy as np
import pytest

import sumwise
from messages import raises, warns
from sumwise import Domain, Table, Tables, synthetic
from sumwise.collective import CollectiveEM, Counts, FreeTables, LogLinear, TreeModel
from sumwise.collective import em as module
from sumwise.collective.transitions import transitions
from sumwise.errors import NotConverged, SumwiseError
from sumwise.noise import Gaussian, Poisson

YEARS = [synthetic.birds(3, 6, 1000, weights=(0.5, 1, 1, 1), random_state=year) for year in range(3)]
FEATURES = LogLinear([y.features for y in YEARS], start=YEARS[0].log_potentials["t0"])
TABLES = [y.tables for y in YEARS]


def fitted(*args, tables=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        return CollectiveEM(*args, **options).fit(TABLES if tables is None else tables)


def course(em):
    """F after every half step, in order."""
    return np.column_stack([em.fit_.history["after_e_step"], em.fit_.history["objective"]]).ravel()


def test_weights_come_back():
    em = fitted(FEATURES)
    assert em.fit_.converged
    assert np.abs(em.weights_ - YEARS[0].weights).sum() / YEARS[0].weights.sum() < 0.15
    assert em.edges_[2]["t0", "t1"].sum() == pytest.approx(1000)
    pairs = em.model(1).marginals(1000).edges["t0", "t1"]
    truth = YEARS[1].edge_counts["t0", "t1"]
    assert np.abs(pairs - truth).sum() / 2000 < 0.15


@pytest.mark.parametrize("e_step", ["dual", "nlbp", "accelerated-rda", "mirror"])
def test_the_objective_never_increases_and_all_e_steps_agree(e_step):
    em = fitted(FEATURES, e_step=e_step, max_iter=12, e_tol=1e-5)
    assert (np.diff(course(em)) <= 1e-9 * abs(course(em)[-1])).all()
    best = fitted(FEATURES, max_iter=60)
    assert em.fit_.objective == pytest.approx(best.fit_.objective, rel=2e-3)


def test_the_objective_is_the_joint_one():
    em = fitted(FEATURES, max_iter=5)
    total = 0.0
    for r, tables in enumerate(TABLES):
        total += em.model(r).objective(Counts(em.nodes_[r], em.edges_[r], 1000.0), tables)
    assert total <= em.fit_.objective + 1e-9 * abs(total)  # the tables were fitted once more, to the last parameters
    assert total == pytest.approx(em.fit_.objective, rel=1e-2)


def test_an_e_step_that_lets_f_increase_goes_on(monkeypatch):
    values = iter([5.0, 9.0, 8.0, 8.0, 8.0, 8.0])
    monkeypatch.setattr(module._Runs, "_value", lambda self, theta, fits: next(values))
    monkeypatch.setattr(module._Runs, "_gain", lambda self, old, new, fits: 0.0)
    em = fitted(FEATURES, e_step="nlbp-naive", e_iter=2, max_iter=4)
    assert em.fit_.history["objective"].tolist()[:3] == [5.0, 9.0, 8.0]


@pytest.mark.check
def test_acceleration_ends_at_the_same_place_sooner():
    plain, quick = (fitted(FEATURES, accelerate=a, max_iter=300) for a in (False, True))
    assert quick.fit_.n_iter < plain.fit_.n_iter
    assert np.allclose(plain.weights_, quick.weights_, atol=0.02)


def test_e_steps_are_no_finer_than_what_is_gained(monkeypatch):
    kept, calls = module.map_counts, []

    def watched(*args, **options):
        fit = kept(*args, **options)
        calls.append((options["max_gap"], fit.gap))
        return fit

    monkeypatch.setattr(module, "map_counts", watched)
    lazy = fitted(FEATURES)
    loose = [gap <= most for most, gap in calls if most > 1e-3]
    assert len(loose) > 10
    assert np.mean(loose) > 0.9
    assert max(gap for _, gap in calls[-3:]) < 1e-2  # the last tables are as good as ever
    monkeypatch.setattr(module, "SHARE", 0.0)
    fine = fitted(FEATURES)
    assert lazy.fit_.objective == pytest.approx(fine.fit_.objective, abs=0.05)
    assert np.allclose(lazy.weights_, fine.weights_, atol=0.02)


def test_sampled_and_exact_e_steps_learn_too():
    small = [synthetic.birds(2, 3, 4, weights=(0.5, 1, 1, 1), random_state=y) for y in range(2)]
    kind = LogLinear([y.features for y in small], start=small[0].log_potentials["t0"], ridge=1.0)
    exact = fitted(kind, tables=[y.tables for y in small], e_step="exact", max_iter=4)
    gibbs = fitted(kind, tables=[y.tables for y in small], e_step="gibbs", max_iter=4, draws=400, random_state=0)
    assert np.isfinite(exact.weights_).all()
    assert np.abs(exact.weights_ - gibbs.weights_).max() < 0.3


@pytest.mark.check
def test_free_tables_beat_the_fit_that_ignores_the_noise():
    morning = synthetic.mobility((3, 4), 5, 10_000, scale=20.0, random_state=3)
    em = fitted(FreeTables(), tables=morning.edge_tables, max_iter=40)
    assert (np.diff(course(em)) <= 1e-9 * abs(course(em)[-1])).all()

    def error(theta):
        pairs = em.model(theta=theta).marginals().edges
        return np.mean([np.abs(pairs[e] - morning.edge_marginals[k]).mean() for k, e in enumerate(morning.edges)])

    assert error(em.theta_) < error(em.baseline_)


@pytest.mark.parametrize("shared", [True, False])
def test_node_counts_start_at_random_and_the_best_is_kept(shared):
    morning = synthetic.mobility((2, 3), 4, 2000, scale=2.0, random_state=3)
    one, more = (
        fitted(FreeTables(shared=shared), tables=morning.node_tables, max_iter=15, n_starts=k, random_state=1)
        for k in (1, 3)
    )
    assert one.baseline_ is None
    assert more.fit_.objective <= one.fit_.objective
    assert (np.diff(course(more)) <= 1e-9 * abs(course(more)[-1])).all()


def killed(monkeypatch, at):
    """Let a fit die in its step number `at`, once; returns the steps that are tried from now on."""
    kept, calls = module._Runs._step, []

    def dies(self, state):
        calls.append(1)
        if len(calls) == at:
            raise KeyboardInterrupt
        kept(self, state)

    monkeypatch.setattr(module._Runs, "_step", dies)
    return calls


def test_a_killed_fit_resumes_to_the_same_result(tmp_path, monkeypatch):
    whole = fitted(FEATURES, max_iter=10, random_state=0, n_starts=2)
    path = tmp_path / "em.checkpoint"
    calls = killed(monkeypatch, 14)
    with pytest.raises(KeyboardInterrupt):
        fitted(FEATURES, max_iter=10, random_state=0, n_starts=2, checkpoint=path)
    assert path.exists()
    again = fitted(FEATURES, max_iter=10, random_state=0, n_starts=2, checkpoint=path)
    assert len(calls) < 30
    assert np.array_equal(again.theta_, whole.theta_)
    assert np.array_equal(again.fit_.history["objective"], whole.fit_.history["objective"])
    assert not path.exists()


def test_a_checkpoint_of_other_data_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "em.checkpoint"
    killed(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        fitted(FEATURES, checkpoint=path)
    with raises(SumwiseError, "checkpoint-written-other"):
        fitted(FEATURES, tables=TABLES[::-1], checkpoint=path)


def test_it_is_saved_and_loaded(tmp_path):
    em = fitted(FEATURES, max_iter=2)
    sumwise.save(em, tmp_path / "em.sumwise")
    loaded = sumwise.load(tmp_path / "em.sumwise")
    assert np.array_equal(loaded.theta_, em.theta_)
    assert np.allclose(loaded.model(2).marginals().edges["t0", "t1"], em.model(2).marginals().edges["t0", "t1"])


def test_it_owns_up_when_it_stops_early():
    with warns(NotConverged, "stopped-after-steps", 2):
        CollectiveEM(FEATURES, max_iter=2).fit(TABLES)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"e_step": "newton"}, ("is-takes", "e_step")),
        ({"max_iter": 0}, ("must-least", "max_iter")),
        ({"tol": 0.0}, ("not-above-zero-2", "tol")),
        ({"n_starts": 0}, ("must-least", "n_starts")),
        ({"parameters": np.zeros(4)}, ("parameters-type-loglinear",)),
        ({"accelerate": "yes"}, ("is-takes", "accelerate")),
        ({"draws": 1}, ("must-least", "draws")),
        ({"e_iter": 0}, ("must-least", "e_iter")),
    ],
)
def test_bad_settings_are_refused(options, told):
    with raises(SumwiseError, *told):
        CollectiveEM(**{"parameters": FEATURES, **options}).fit(TABLES)


def test_bad_data_and_realisations_are_refused():
    with raises(SumwiseError, "realisation-another-domain"):
        CollectiveEM(FEATURES).fit([*TABLES[:2], synthetic.birds(4, 6, random_state=0).tables])
    with raises(SumwiseError, "week-moves-need", 1):
        CollectiveEM().fit(Tables([Table("a", [5, 5], noise=Poisson())], Domain({"a": 2}), n=10))
    with raises(SumwiseError, "realisation-is-there", 3):
        fitted(FEATURES, max_iter=1).model(3)


def test_convergence_is_judged_by_the_gradient_and_standard_errors_cover():
    em = fitted(FEATURES)
    assert em.decrement_ <= 1e-3
    assert (np.abs(em.weights_ - YEARS[0].weights) < 4 * em.standard_errors_).all()
    # The information is that of F: F rises as it says.
    k = int(np.argmin(em.standard_errors_))
    moved = em.theta_.copy()
    moved[k] += 2.0 * em.standard_errors_[k]
    held = fitted(FEATURES, start=moved, max_iter=1)
    assert held.fit_.history["after_e_step"][0] - em.fit_.objective > 0.5


def test_weights_about_which_the_counts_say_nothing_have_infinite_standard_errors():
    silent = [np.concatenate([y.features, np.ones_like(y.features[..., :1])], axis=-1) for y in YEARS]
    em = fitted(LogLinear(silent, start=YEARS[0].log_potentials["t0"]))
    assert np.isinf(em.standard_errors_).tolist() == [False] * 4 + [True]
    known = fitted(FEATURES)
    np.testing.assert_allclose(em.standard_errors_[:4], known.standard_errors_, rtol=0.02)
    assert all(np.isfinite(e).all() for e in em.transition_errors().values())


@pytest.mark.check
def test_a_weight_that_no_flight_shows_is_not_certain():
    """Birds of the papers' setting hardly ever stay where they could move: the last weight is then unidentified."""
    years = [synthetic.birds(6, 10, 1000, random_state=year) for year in range(3)]
    kind = LogLinear([y.features for y in years], start=years[0].log_potentials["t0"])
    em = fitted(kind, tables=[y.tables for y in years])
    assert (em.standard_errors_[:3] < 0.5).all()
    assert em.standard_errors_[3] > 1.0


def test_a_learned_first_week_stays_normalised_and_starts_end_at_the_same_weights():
    seasons = [synthetic.birds(3, 5, 500, weights=(0.5, 1, 1, 1), random_state=year) for year in range(2)]
    kind, tables = LogLinear([s.features for s in seasons]), [s.tables for s in seasons]
    one = fitted(kind, tables=tables)
    other = fitted(kind, tables=tables, start=np.concatenate([[3.0, -1.0, 2.0, 0.0], np.zeros(9)]))
    for em in (one, other):
        assert np.exp(em.theta_[4:]).sum() == pytest.approx(1.0)
        assert em.decrement_ <= 1e-3
    np.testing.assert_allclose(one.weights_, other.weights_, atol=0.1 * one.standard_errors_.max())


@pytest.mark.check
def test_weights_that_counts_hardly_determine_are_followed_to_the_optimum():
    seasons = [synthetic.birds(3, 6, 1000, weights=(6, 4, -1, 1), random_state=year) for year in range(2)]
    kind = LogLinear([s.features for s in seasons], start=seasons[0].log_potentials["t0"])
    em = fitted(kind, tables=[s.tables for s in seasons])
    again = fitted(kind, tables=[s.tables for s in seasons], start=em.theta_ + 0.3)
    known = np.isfinite(em.standard_errors_)
    off = np.abs(em.weights_ - again.weights_)[known]
    assert (off < 0.1 + 0.1 * em.standard_errors_[known].max()).all()
    with raises(SumwiseError, "start-parameters-model", 2):
        fitted(kind, tables=[s.tables for s in seasons], start=[0.0, 1.0])


@pytest.mark.check
@pytest.mark.parametrize("shared", [True, False], ids=["shared", "per step"])
def test_standard_errors_of_free_tables_are_those_of_repetitions(shared):
    """Errors over their standard errors, over repetitions, are about one."""
    rng = np.random.default_rng(5)
    names = ["t0", "t1", "t2"]
    domain, edges = Domain(dict.fromkeys(names, 3)), list(pairwise(names))
    move = np.log(rng.dirichlet(np.full(3, 3.0), size=3))
    true = TreeModel(domain, edges, {"t0": np.log([0.5, 0.3, 0.2]), **dict.fromkeys(edges, move)})
    wanted, off = np.stack(transitions(true.marginals())), []
    for _ in range(4):
        drawn = true.sample_tables(2000, random_state=rng)
        noise = Gaussian(15.0)
        seen = [Table(e, noise.sample(drawn.edges[e], rng), noise=noise) for e in edges]
        em = CollectiveEM(FreeTables(shared=shared)).fit(Tables(seen, domain, n=2000))
        errors = np.stack(list(em.transition_errors().values()))
        off.append((np.stack(transitions(em.model().marginals())) - wanted) / errors)
    assert 0.4 < np.mean(np.square(off)) < 2.2
    assert em.standard_errors_.shape == em.theta_.shape


def test_standard_errors_are_refused_where_they_cannot_be_had():
    with raises(SumwiseError, "standard-errors-need"):
        fitted(FEATURES, e_step="nlbp", standard_errors=True, max_iter=1)
    em = fitted(FEATURES, standard_errors=False, max_iter=1)
    assert em.standard_errors_ is None
    with raises(SumwiseError, "fit-no-standard"):
        em.transition_errors()
