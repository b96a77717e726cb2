"""Training on a torch device, run on the CPU: agreement with the Numba engine, seeds, checkpoints, refusals."""

import warnings

import numpy as np
import pytest

from maxent_settings import classifier
from messages import raises
from sumwise import DataError, NotConverged, synthetic
from sumwise.maxent import MaxEntClassifier, SolverOptions, device_training, trainers
from sumwise.maxent.sufficient_statistics import sufficient_statistics
from sumwise.maxent.training import StepOptions

torch = pytest.importorskip("torch", reason="the extra 'torch' isn't installed")

HERE = "cpu:0"  # torch's name for the CPU: plain torch operations in place of Numba


@pytest.fixture(scope="module")
def tables():
    return synthetic.rows(20_000, sizes=[4, 3, 5, 2], rate=0.3, correlation=0.4, random_state=1).tables()


def fitted(tables, checkpoint=None, **options):
    model = classifier(**{"engine": "gibbs", "n_chains": 1000, "random_state": 0, **options})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        return model.fit(tables, checkpoint=checkpoint)


def with_steps_of(length):
    return lambda problem: StepOptions(problem.penalties, length, length)


def test_theta_agrees_with_the_exact_engine_and_with_the_numba_engine(tables):
    """Two seeds of the Numba engine set the scale of the Monte Carlo error."""
    exact = MaxEntClassifier(engine="exact").fit(tables)
    settings = ({"device": HERE, "n_chains": 5000}, {}, {"random_state": 1})
    here, there, other = (fitted(tables, **{"n_chains": 1500} | o) for o in settings)

    def apart(a, b):
        return np.sqrt(np.mean((a.theta_ - b.theta_) ** 2))

    assert apart(here, there) < 1.5 * apart(there, other)
    assert apart(here, exact) < 1.5 * apart(there, exact)
    assert here.fit_.converged
    assert here.engine_ == "gibbs"


def test_the_same_seed_gives_the_same_bits_and_chains_that_can_be_asked(tables):
    one, two, other = (fitted(tables, device=HERE, max_iter=25, random_state=s) for s in (3, 3, 4))
    assert np.array_equal(one.theta_, two.theta_)
    assert not np.array_equal(one.theta_, other.theta_)
    assert one.fit_.n_iter == len(one.fit_.history["misfit"]) == 25
    assert one.chains_["codes"].shape == (1000, 4)
    assert len(one.sample(10, random_state=0)) == 10


def test_three_classes_larger_tables_and_held_out_rows():
    from sumwise import Tables

    rng = np.random.default_rng(0)
    rows = {a: rng.integers(0, k, 3000) for a, k in (("a", 3), ("b", 2), ("c", 2))}
    rows["y"] = np.array(["red", "green", "blue"])[(rows["a"] + rows["b"] * rows["c"]) % 3]
    tables = Tables.from_frame(rows, ["a", "b", "c"], label="y", order=3)
    model = MaxEntClassifier(
        device=HERE, options=SolverOptions(n_chains=1000, max_iter=60), random_state=0, penalty_theta=1.0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        model.fit(tables, held_out=(rows, rows["y"]))
    assert (model.predict(rows) == rows["y"]).mean() > 0.99
    scores = model.fit_.history["held_out"]
    assert np.isfinite(scores[9::10]).all()
    own = np.searchsorted(model.classes_, rows["y"])
    log_p = np.log(model.predict_proba(rows)[np.arange(len(own)), own])
    shares = np.bincount(own) / len(own)
    returned = 1 - log_p.mean() / np.sum(shares * np.log(shares))
    assert scores[-1] == pytest.approx(returned, abs=1e-5)  # the last score is that of the model that is returned


def test_an_interrupted_fit_goes_on_to_the_same_result(tables, tmp_path, monkeypatch):
    options = {"device": HERE, "max_iter": 35, "tol": 0.0, "n_chains": 300}
    whole = fitted(tables, **options)
    monkeypatch.setattr(trainers, "SECONDS", 0.0)
    real = trainers.Checkpoint.save

    def interrupted(self, state):
        real(self, state)
        if state["state"]["n_iter"] == 20:
            raise KeyboardInterrupt

    path = tmp_path / "state"
    with monkeypatch.context() as patch:
        patch.setattr(trainers.Checkpoint, "save", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fitted(tables, checkpoint=path, **options)
    resumed = fitted(tables, checkpoint=path, **options)
    assert resumed.fit_.n_iter == whole.fit_.n_iter == 35
    np.testing.assert_array_equal(resumed.theta_, whole.theta_)


def test_a_device_that_is_not_there_is_refused(tables):
    with raises(DataError, "device-cpu-cuda", "abacus"):
        MaxEntClassifier(device="abacus").fit(tables)
    with raises(DataError, "device-cpu-cuda", 3):
        MaxEntClassifier(device=3).fit(tables)
    with raises(DataError, "engine-device"):
        MaxEntClassifier(device=HERE, engine="exact").fit(tables)


def test_what_does_not_fit_is_named_with_what_to_do(tables):
    lay = sufficient_statistics(tables).layout
    with raises(DataError, "training-needs-about", "chains", 71, "10,000,000"):
        device_training.check_memory(lay, 2, 10**7, 1, 2**20)
    with raises(DataError, "training-needs-about-gib"):
        device_training.check_memory(lay, 2, 1, 1, 0)
    device_training.check_memory(lay, 2, 1000, 1, 2**30)


def test_training_that_diverges_says_so(tables, monkeypatch):
    monkeypatch.setattr(trainers, "step_options", with_steps_of(1e38))
    with raises(DataError, "training-diverged-within", 10):  # 1e38 is the end of single precision
        fitted(tables, device=HERE, penalty_theta=0.0, penalty_mu=0.0)


def test_parameters_that_make_every_row_certain_are_not_called_converged(tables, monkeypatch):
    monkeypatch.setattr(trainers, "step_options", with_steps_of(1e20))
    for device in (HERE, "cpu"):
        assert not fitted(tables, device=device, penalty_theta=0.0, penalty_mu=0.0, max_iter=20).fit_.converged
