import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin

from sumwise import Bags
from sumwise.distribution import (
    BagRidge,
    DeepSets,
    LinearEmbedding,
    MomentEmbedding,
    recommend,
)
from sumwise.distribution.recommend import _first_within_one_error, _tempered
from sumwise.errors import DataError

PAIR = {"means": BagRidge(LinearEmbedding()), "moments": BagRidge(MomentEmbedding())}


def draws(spread, n=60, seed=0):
    """Bags whose response is their mean, or (with `spread`) the spread around zero."""
    rng = np.random.default_rng(seed)
    y = rng.uniform(1, 3, n)
    parts = [rng.normal(0, s, (40, 2)) if spread else rng.normal(s, 1.0, (40, 2)) for s in y]
    return Bags.from_arrays(parts), y


def test_means_don_t_tell_a_spread():
    advice = recommend(*draws(spread=True), candidates=PAIR)
    assert advice.best == "moments"
    assert "best R squared" in advice.reasons[0]
    assert advice.frame()["method"].tolist() == ["moments", "means"]


def test_the_simpler_of_two_equals_is_taken():
    advice = recommend(*draws(spread=False), candidates=PAIR)
    assert advice.best == "means"
    assert advice.estimator.get_params()["embedding"].__class__ is LinearEmbedding
    assert not hasattr(advice.estimator, "coef_")


def test_one_standard_error_is_taken_fold_by_fold():
    hard = np.array([0.0, 0.4, 0.8, 0.2])
    close = {"plain": hard + np.array([0.01, -0.02, 0.02, -0.03]), "rich": hard}
    assert _first_within_one_error(close) == "plain"
    clear = {"plain": hard - 0.05, "rich": hard + np.array([0.01, 0.0, -0.01, 0.0])}  # little, but in every fold
    assert _first_within_one_error(clear) == "rich"
    erratic = {"plain": np.array([0.0, 0.4, 0.8, -1e9]), "rich": hard}  # its loss is within its own standard error
    assert _first_within_one_error(erratic) == "rich"


@pytest.mark.check
def test_few_bags_are_told_in_the_reasons():
    advice = recommend(*draws(spread=True), n_folds=3)
    assert "DeepSets" not in advice.scores
    text = str(advice)
    for part in ("Number of bags: 60, too few", "Bag size: 40 to 40 rows", "Dimension: 2", "DeepSets was not tried"):
        assert part in text


def test_small_bags_are_told():
    bags, y = draws(spread=False)
    rows = np.arange(bags.n_rows) % 40 < 5
    assert "describe their distribution poorly" in str(recommend(bags.subset(rows), y, candidates=PAIR, n_folds=2))


def test_neighbours_flatter_random_folds():
    rng = np.random.default_rng(0)
    places = rng.uniform(size=(150, 2))
    bags = Bags.from_arrays([p + 0.01 * rng.normal(size=(10, 2)) for p in places])  # members know where they are
    y = np.sin(12 * places[:, 0]) * np.cos(9 * places[:, 1])
    from sumwise.distribution import FourierEmbedding

    one = {"waves": BagRidge(FourierEmbedding(), random_state=0)}
    random = recommend(bags, y, candidates=one).scores["waves"].mean()
    apart = recommend(bags, y, candidates=one, places=places, buffer=0.05)
    assert apart.scores["waves"].mean() < random - 0.1
    assert "blocks of the map" in apart.reasons[-1]


@pytest.mark.check
def test_classes():
    pytest.importorskip("torch", reason="networks need torch: pip install 'sumwise[torch]'")
    bags, y = draws(spread=True)
    net = DeepSets(phi=(16,), rho=(), max_epochs=25, task="classification")
    advice = recommend(bags, np.where(y > 2, "wide", "narrow"), task="classification", candidates={"net": net})
    assert advice.score_name == "accuracy"
    assert advice.scores["net"].mean() > 0.75


def test_a_candidate_that_fails_is_left_out_and_said():
    bags, y = draws(spread=True)
    advice = recommend(bags, y, candidates={"share": DeepSets(task="share"), **PAIR}, n_folds=2)
    assert "share" not in advice.scores
    assert any("share was left out: Shares must lie" in reason for reason in advice.reasons)
    with pytest.raises(DataError, match="No candidate could be fitted"):
        recommend(bags, y, candidates={"share": DeepSets(task="share")})


def test_bad_input_is_refused():
    bags, y = draws(spread=True)
    with pytest.raises(DataError, match="at least 10 are needed"):
        recommend(bags[:8], y[:8])
    with pytest.raises(DataError, match="task"):
        recommend(bags, y, task="ranking")
    with pytest.raises(DataError, match="no candidates"):
        recommend(bags, y, candidates={})
    with pytest.raises(DataError, match="bags"):
        recommend(bags, y[:-1])


def test_responses_that_no_candidate_could_learn_are_refused_once():
    bags, _ = draws(spread=True, n=20)
    with pytest.raises(DataError, match="are numbers; the first one is 'a'.*task='classification' takes labels"):
        recommend(bags, ["a", "b"] * 10, n_folds=2)
    for task, same in (("regression", np.ones(20)), ("classification", ["a"] * 20)):
        with pytest.raises(DataError, match="All 20 responses are the same"):
            recommend(bags, same, task=task, n_folds=2)


class OneColumn(ClassifierMixin, BaseEstimator):
    """Sees the mean of one column only."""

    def __init__(self, column=0, slope=3.0):
        self.column = column
        self.slope = slope

    def fit(self, bags, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, bags):
        one = expit([self.slope * rows[:, self.column].mean() for rows in bags])
        return np.column_stack([1.0 - one, one])

    def predict(self, bags):
        return self.classes_[np.argmax(self.predict_proba(bags), axis=1)]


def test_candidates_that_err_apart_are_averaged():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(60, 2))
    bags, labels = Bags.from_arrays(list(centres[:, None, :] + rng.normal(0, 0.1, (60, 5, 2)))), centres.sum(axis=1) > 0
    pair = {"first": OneColumn(0), "second": OneColumn(1)}
    advice = recommend(bags, labels, task="classification", candidates=pair, n_folds=3)
    assert advice.best in ("average of first and second", "average of second and first")
    assert advice.frame()["method"].tolist()[0] == advice.best
    assert advice.frame()["log-likelihood"].is_monotonic_decreasing
    model = advice.estimator.fit(bags, labels)
    mean = np.mean([one.predict_proba(bags) for one in pair.values()], axis=0)
    np.testing.assert_allclose(model.predict_proba(bags), mean)
    assert advice.log_likelihoods[advice.best] >= np.log(mean[np.arange(60), labels.astype(int)]).mean()
    alone = recommend(bags, labels, task="classification", candidates={"first": pair["first"]}, n_folds=3)
    assert alone.best == "first"
    assert isinstance(alone.estimator, OneColumn)


def test_a_candidate_that_distinguishes_more_is_taken_though_too_certain():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(120, 2))
    bags = Bags.from_arrays(list(centres[:, None, :] + rng.normal(0, 0.01, (120, 5, 2))))
    labels = np.where(rng.random(120) < 0.15, centres[:, 0] < 0, centres[:, 0] > 0)
    candidates = {"certain": OneColumn(0, 100.0), **{f"vague {k}": OneColumn(1, 0.01 * k) for k in (1, 2, 3)}}
    advice = recommend(bags, labels, task="classification", candidates=candidates, n_folds=3)
    assert "certain" in advice.best.split(", ")[0]
    one = recommend(bags, labels, task="classification", candidates={"certain": OneColumn(0, 100.0)}, n_folds=3)
    assert "CalibratedClassifierCV" in one.reasons[1]
    assert max(advice.log_likelihoods, key=lambda name: advice.log_likelihoods[name]) == advice.best
    assert all(one.log_likelihoods["certain"] > advice.log_likelihoods[name] for name in candidates if "vague" in name)
    alone = recommend(bags, labels, task="classification", candidates={"vague": OneColumn(0, 2.0)}, n_folds=3)
    assert not any("too certain" in reason for reason in alone.reasons)


def test_probabilities_are_compared_at_their_best_power():
    rng = np.random.default_rng(1)
    right = rng.random((400, 1))
    truth = (rng.random(400) < right[:, 0]).astype(int)
    chances = np.column_stack([1 - right, right])
    sharp = chances**4 / (chances**4).sum(axis=1, keepdims=True)
    power, value = _tempered(sharp, truth)
    assert power == pytest.approx(0.25, abs=0.06)
    assert value == pytest.approx(_tempered(chances, truth)[1], abs=0.02)


def test_probabilities_that_say_nothing_keep_the_power_one():
    labels = np.arange(40) % 2
    assert _tempered(np.full((40, 2), 0.5), labels) == (1.0, pytest.approx(np.log(0.5)))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_candidate_whose_predictions_are_not_numbers_is_left_out(task):
    class Nowhere(OneColumn):
        """Gives no numbers."""

        def predict_proba(self, bags):
            return np.full((len(bags), 2), np.nan)

        def score(self, bags, y):
            return np.nan

    rng = np.random.default_rng(0)
    bags = Bags.from_arrays(list(rng.normal(size=(40, 5, 2))))
    labels = rng.random(40) < 0.5
    candidates = {"nowhere": Nowhere(), "somewhere": OneColumn()}
    advice = recommend(bags, labels, task=task, candidates=candidates, n_folds=3)
    assert advice.best == "somewhere"
    assert list(advice.scores) == ["somewhere"]
    assert any("nowhere was left out" in reason for reason in advice.reasons)
