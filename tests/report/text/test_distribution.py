"""The report on responses of bags."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import VotingClassifier

from messages import raises
from sumwise import Bags, load, save
from sumwise.distribution import BagLogistic, BagRidge, BagStacking, LinearEmbedding, MomentEmbedding
from sumwise.errors import DataError
from sumwise.report import report


def bags(mean, seed=0):
    rng = np.random.default_rng(seed)
    return Bags.from_arrays([rng.normal(m, 1.0, (10, 1)) for m in mean])


def test_a_model_without_information_says_so_first():
    rng = np.random.default_rng(0)
    data = bags(np.zeros(30)), rng.normal(size=30)
    found = report(BagRidge(LinearEmbedding()).fit(*data), data)
    assert found.summary["record"]["score"] <= 0
    assert "no better than predicting a constant" in found.summary["lead"][0]
    assert found.summary["findings"][0]["low"] <= 0


def test_the_methods_behind_an_average_are_shown_with_their_optimism():
    mean = np.linspace(-2, 2, 40)
    data = bags(mean), mean
    model = BagStacking({"means": BagRidge(LinearEmbedding()), "moments": BagRidge(MomentEmbedding())}, n_folds=4)
    page = report(model.fit(*data), data, response="dose")
    assert "slightly optimistic" in str(page.summary["sections"])
    assert page.title == "Predicting dose from samples in 40 bags"
    frame = page.frames["estimates"]
    np.testing.assert_array_equal(frame["predicted"], model.held_out_[:, 0])  # no bag is predicted by its own fit
    assert ((frame["low"] <= frame["actual"]) & (frame["actual"] <= frame["high"])).mean() >= 0.95


@pytest.mark.parametrize("logistic", [True, False])
def test_classes_are_shown_as_a_confusion_matrix(logistic):
    odd = np.arange(30) % 2
    data = bags(3.0 * odd), (odd if logistic else odd.astype(float))
    model = BagLogistic(LinearEmbedding(), target="classes", penalty=0.1) if logistic else BagRidge(LinearEmbedding())
    found = report(model.fit(*data), data, classes=["even", "odd"])
    assert found.summary["record"]["scored by"] == "accuracy"
    assert found.summary["record"]["score"] > 0.9
    assert [figure.plot for figure in found.figures[:2]] == ["bag_contrast", "confusion"]
    assert found.figures[0].numbers["groups"] == ["even", "odd"]
    assert found.frames["estimates"]["predicted"].isin(["even", "odd"]).all()


def test_responses_are_needed():
    data = bags(np.arange(5.0)), np.arange(5.0)
    with raises(DataError, "report-method-bags"):
        report(BagRidge(LinearEmbedding()).fit(*data), data[0])


def test_classes_with_names_and_a_vote_of_several_are_reported_saved_and_compared(tmp_path):
    y = np.array(["no", "yes"])[np.arange(24) % 2]
    data = bags(np.where(y == "yes", 1.5, 0.0)), y
    one = BagLogistic(LinearEmbedding())
    vote = VotingClassifier([("a", one), ("b", BagLogistic(MomentEmbedding()))], voting="soft").fit(*data)
    found = report(vote, data, compare={"one": one})
    assert found.summary["family"] == "distribution"
    assert "of the bags to the right class" in found.summary["lead"][0]
    assert "assigned to a wrong class" in str(found.summary["sections"])
    save(vote, tmp_path / "vote")
    np.testing.assert_array_equal(load(tmp_path / "vote").predict_proba(data[0]), vote.predict_proba(data[0]))


def test_few_bags_give_intervals_of_new_bags_only_as_sure_as_their_number_allows():
    """Of 8 exchangeable errors, a new one is below the largest with probability 8/9; 95% can't be said."""
    data = bags(np.arange(8.0)), np.arange(8.0)
    page = report(BagRidge(LinearEmbedding()).fit(*data), data)
    findings = page.summary["findings"]
    assert [finding["level"] for finding in findings] == [0.95, 0.95, pytest.approx(8 / 9)]
    error = (page.frames["estimates"]["predicted"] - page.frames["estimates"]["actual"]).abs().max()
    assert (findings[-1]["high"] - findings[-1]["low"]) / 2 == pytest.approx(error)
