"""Training: threads, interruption, warm starts."""

import warnings

import numpy as np
import pytest

from maxent_settings import classifier
from messages import raises, warns
from sumwise import DataError, Domain, NotConverged, Table, Tables, synthetic
from sumwise.maxent import MaxEntClassifier, SolverOptions, trainers
from sumwise.noise import Gaussian


@pytest.fixture(scope="module")
def people():
    """Rows of seven features and a label, the features' names, and their tables."""
    world = synthetic.rows(20_000, sizes=[4, 3, 5, 2, 6, 3, 4], rate=0.3, correlation=0.4, random_state=1)
    frame, names = world.frame(), list(world.domain.attributes)
    label = next(c for c in frame.columns if c not in names)
    frame = frame.rename(columns={label: "label"})
    return frame, names, Tables.from_frame(frame, names, label="label")


def quietly(model, tables, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        return model.fit(tables, **options)


def test_one_and_two_threads_learn_the_same(people):
    _, _, tables = people
    options = {"engine": "gibbs", "n_chains": 1000, "max_iter": 10, "random_state": 3}
    one, two = (quietly(classifier(n_jobs=j, **options), tables) for j in (1, 2))
    assert np.array_equal(one.theta_, two.theta_)
    assert np.array_equal(one.mu_, two.mu_)


def test_an_interrupted_fit_goes_on_to_the_same_result(people, tmp_path, monkeypatch):
    _, _, tables = people
    options = {"engine": "gibbs", "n_chains": 500, "max_iter": 30, "random_state": 3, "tol": 0.0}
    whole = quietly(classifier(**options), tables)
    path = tmp_path / "state"
    monkeypatch.setattr(trainers, "SECONDS", 0.0)
    real, calls = trainers.Checkpoint.save, []

    def interrupted(self, state):
        real(self, state)
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(trainers.Checkpoint, "save", interrupted)
        with pytest.raises(KeyboardInterrupt):
            classifier(**options).fit(tables, checkpoint=path)
    assert path.exists()
    resumed = quietly(classifier(**options), tables, checkpoint=path)
    assert np.array_equal(resumed.theta_, whole.theta_)
    assert resumed.fit_.n_iter == whole.fit_.n_iter == 30
    assert not path.exists()


def test_a_fit_that_was_interrupted_with_other_penalties_keeps_them(tmp_path, monkeypatch):
    """Effects are next to nothing here, so penalties are raised once, and training goes on."""
    rows = synthetic.rows(3000, [4, 3, 5, 2], main=0.1, pairwise=0.05, rate=0.3, random_state=1)
    options = {"engine": "gibbs", "n_chains": 1000, "max_iter": 500, "tol": 0.25, "random_state": 0}
    whole = classifier(**options).fit(rows.tables())
    monkeypatch.setattr(trainers, "SECONDS", 0.0)
    real = trainers.Checkpoint.save

    def interrupted(self, state):
        real(self, state)
        if state["steps"]["scale"] != 1:
            raise KeyboardInterrupt

    path = tmp_path / "state"
    with monkeypatch.context() as patch:
        patch.setattr(trainers.Checkpoint, "save", interrupted)
        with pytest.raises(KeyboardInterrupt):
            classifier(**options).fit(rows.tables(), checkpoint=path)
    resumed = classifier(**options).fit(rows.tables(), checkpoint=path)
    assert resumed.fit_.effect_scale == whole.fit_.effect_scale < 0.1
    assert resumed.fit_.n_iter == whole.fit_.n_iter
    assert np.array_equal(resumed.theta_, whole.theta_)


def test_a_checkpoint_of_other_data_is_refused(people, tmp_path, monkeypatch):
    frame, names, tables = people
    monkeypatch.setattr(trainers, "SECONDS", 0.0)
    monkeypatch.setattr(trainers.Checkpoint, "clear", lambda self: None)
    options = {"engine": "gibbs", "n_chains": 200, "max_iter": 10, "random_state": 0}
    quietly(classifier(**options), tables, checkpoint=tmp_path / "state")
    other = Tables.from_frame(frame.head(5000), names, label="label", domain=tables.domain)
    with raises(DataError, "checkpoint-written-other"):
        classifier(**options).fit(other, checkpoint=tmp_path / "state")


def test_warm_start_goes_on_from_the_last_fit(people):
    _, _, tables = people
    model = MaxEntClassifier(
        engine="gibbs", options=SolverOptions(n_chains=500, max_iter=40), random_state=0, warm_start=True
    )
    quietly(model, tables)
    first = model.fit_.history["misfit"]
    quietly(model, tables)
    assert model.fit_.history["misfit"][5] < first[5]


def test_too_few_chains_for_the_rows_say_how_many_are_wanted(people):
    _, _, tables = people
    with warns(NotConverged, "stopped-after-steps"):
        classifier(engine="gibbs", n_chains=1000, max_iter=150, tol=0.2, random_state=0).fit(tables)


def test_a_refit_from_the_last_one_takes_fewer_steps_to_the_same_place(people):
    frame, names, tables = people
    model = classifier((1.0, 18.0), engine="gibbs", n_chains=4000, tol=0.5, random_state=0, warm_start=True).fit(tables)
    cold = model.fit_.n_iter
    more = Tables.from_frame(frame.iloc[:19_000], names, label="label", domain=tables.domain)
    theta = model.fit(more).theta_
    assert model.fit_.n_iter < cold
    other = classifier((1.0, 18.0), engine="gibbs", n_chains=4000, tol=0.5, random_state=1).fit(more)
    assert np.sqrt(np.mean((theta - other.theta_) ** 2)) < 0.05


@pytest.mark.parametrize("seed", [2, 3])
def test_noise_of_rare_levels_is_not_taken_for_certainty(seed):
    """Nearly everybody is in one level, and the label doesn't depend on it; what noise says of the others is shrunk."""
    rng = np.random.default_rng(seed)
    counts, made = np.array([31800.0, 520, 90, 5, 2, 0, 0, 0, 0, 160]), []
    for name in "ab":
        by_class = np.outer(counts, [0.76, 0.24]) + 300 * rng.standard_normal((10, 2))
        noise = Gaussian(300 * 2**0.5)
        made.append(Table(name, by_class.sum(axis=1), by_class[:, 1], noise, label_noise=Gaussian(300.0)))
    tables = Tables(made, Domain({"a": 10, "b": 10}), n=counts.sum())
    model = quietly(MaxEntClassifier(random_state=0), tables)
    p = model.predict_proba({"a": np.arange(10), "b": np.zeros(10, int)})[:, 1]
    log_odds = np.log(p / (1 - p))
    assert abs(p[0] - 0.24) < 0.05
    assert np.abs(log_odds - log_odds[0]).max() < 2.0
