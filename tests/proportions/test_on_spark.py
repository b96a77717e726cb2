"""Label proportions on Spark: parts add up to the whole, and the fit is that of one machine."""

import pickle

import numpy as np
import pytest

from sumwise import Bags, DataError
from sumwise.proportions import CardinalityClassifier
from sumwise.proportions.counts import observe
from sumwise.proportions.likelihood import BagLikelihood
from sumwise.proportions.linear import LinearProblem
from sumwise.proportions.on_spark import cut


def example(n_classes=2):
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 30, 40)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    values = rng.normal(size=(offsets[-1], 3)) + np.repeat(rng.normal(size=(40, 3)), sizes, axis=0)
    scores = values[:, :1] * np.arange(n_classes)
    y = (scores + rng.gumbel(size=(len(values), n_classes))).argmax(axis=1)
    counts = np.stack([np.add.reduceat(y == k, offsets[:-1]) for k in range(n_classes)], axis=1)
    return Bags(values, offsets), counts[:, 1] if n_classes == 2 else counts


class Context:
    """A Spark context that runs everything here, through pickles as Spark would."""

    defaultParallelism = 3

    def parallelize(self, parts, n):
        assert len(parts) == n
        return Rdd(parts)

    def broadcast(self, value):
        return Sent(value)


class Sent:
    def __init__(self, value):
        self.value = value

    def destroy(self):
        pass


class Rdd:
    def __init__(self, elements):
        self.elements = elements

    def map(self, work):
        return Rdd([pickle.loads(pickle.dumps(work))(pickle.loads(pickle.dumps(e))) for e in self.elements])

    def persist(self, level):
        return self

    def collect(self):
        return self.elements


@pytest.mark.parametrize(("n_classes", "random_intercept"), [(2, False), (2, True), (3, False)])
def test_parts_add_up_to_the_whole(n_classes, random_intercept):
    pytest.importorskip("pyspark", reason="the extra 'spark' isn't installed")
    from sumwise.proportions.on_spark import SparkProblem

    bags, counts = example(n_classes)
    temper = np.linspace(0.5, 1.0, len(bags))
    likelihood = BagLikelihood(bags.offsets, observe(bags, counts, None, "match"), "auto", temper)
    whole = LinearProblem(bags.values, likelihood, 2.0, n_classes, random_intercept)
    session = type("Session", (), {"sparkContext": Context()})()
    spread = SparkProblem(whole, session)
    theta = np.random.default_rng(1).normal(0, 0.3, whole.n_params)
    for (a, b), (c, d) in zip([whole.value_and_gradient(theta)], [spread.value_and_gradient(theta)]):
        assert c == pytest.approx(a, rel=1e-10)
        np.testing.assert_allclose(d, b, atol=1e-8)
    for a, b in zip(whole.information(theta), spread.information(theta)):
        np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-6)


def test_parts_hold_all_bags_and_about_as_many_rows():
    bags, counts = example()
    likelihood = BagLikelihood(bags.offsets, observe(bags, counts, None, "match"))
    parts = cut(LinearProblem(bags.values, likelihood, 2.0), 4)
    rows = [len(p.values) for p in parts]
    assert sum(rows) == len(bags.values)
    assert sum(p.likelihood.n_bags for p in parts) == len(bags)
    assert max(rows) - min(rows) < 60
    assert len(cut(LinearProblem(bags.values, likelihood, 2.0), 500)) <= 40


@pytest.mark.parametrize("options", [{"penalty": "auto"}, {"solver": "em", "penalty": 1.0}])
def test_what_spark_does_not_do_is_refused(options):
    with pytest.raises(DataError, match="On Spark the likelihood is climbed directly"):
        CardinalityClassifier(engine="spark", **options).fit(*example())


class Session:
    """A session whose driver is lost after some evaluations."""

    def __init__(self, evaluations=None):
        self.sparkContext, self.left = Context(), evaluations

    def counted(self, evaluate):
        def work(problem, method, theta):
            if self.left is not None:
                self.left -= 1
                if self.left < 0:
                    raise KeyboardInterrupt
            return evaluate(problem, method, theta)

        return work


@pytest.mark.parametrize(("n_classes", "multiclass"), [(2, "auto"), (3, "ovr")])
def test_a_lost_driver_goes_on_with_the_same_bits(n_classes, multiclass, tmp_path, monkeypatch):
    pytest.importorskip("pyspark", reason="the extra 'spark' isn't installed")
    from sumwise.proportions import on_spark as module

    bags, counts = example(n_classes)
    options = {"penalty": 1.0, "multiclass": multiclass, "engine": "spark"}
    real, made = module.SparkProblem._all, []

    def fit(evaluations, **more):
        session = Session(evaluations)

        def counted(problem, method, theta):
            made.append(method)
            return session.counted(real)(problem, method, theta)

        monkeypatch.setattr(module.SparkProblem, "_all", counted)
        monkeypatch.setattr(module, "spark_session", lambda master: (session, lambda: None))
        monkeypatch.setattr(Rdd, "unpersist", lambda self: None, raising=False)
        made.clear()
        return CardinalityClassifier(**options, **more).fit(bags, counts)

    whole = fit(None)
    n_whole = len(made)
    path = tmp_path / "fit.checkpoint"
    with pytest.raises(KeyboardInterrupt):
        fit(n_whole - 3, checkpoint=path)
    assert path.exists()
    Context.defaultParallelism, before = 5, Context.defaultParallelism  # another cluster: parts stay as they were
    try:
        again = fit(None, checkpoint=path)
    finally:
        Context.defaultParallelism = before
    assert len(made) == 3
    np.testing.assert_array_equal(again.coef_, whole.coef_)
    np.testing.assert_array_equal(again.intercept_, whole.intercept_)
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_needs_spark(tmp_path):
    with pytest.raises(DataError, match="checkpoint is for engine='spark'"):
        CardinalityClassifier(penalty=1.0, checkpoint=tmp_path / "a").fit(*example())


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_fit_on_spark_is_that_of_one_machine():
    bags, counts = example()
    options = {"penalty": 1.0, "max_iter": 6, "tol": 1e-2}
    here = CardinalityClassifier(**options).fit(bags, counts)
    there = CardinalityClassifier(**options, engine="spark", master="local[1]").fit(bags, counts)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-6)
    assert there.fit_.converged
