"""Amounts that the reproduction book states in words, each against the results that it speaks of.

A claim is a page, a part of its sentence and what must hold of benchmarks/results. A sentence that is rewritten has its
claim rewritten too; results that are run again must still bear it out.
"""

from __future__ import annotations

import json
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent


def rows(file, path, **only):
    """Records of a file of results with these values."""
    value = json.loads((ROOT / "benchmarks" / "results" / file).read_text("utf-8"))
    for key in path.split("/"):
        value = value[key]
    found = [r for r in (value.values() if isinstance(value, dict) else value) if only.items() <= r.items()]
    assert found, (file, path, only)
    return found


def one(file, path, value, **only):
    """A value of the one record with these values."""
    (row,) = rows(file, path, **only)
    return row[value]


def steps(method, weights, part="methods", value="steps", **only):
    return one("cgm_figures.json", f"{part}/rows", value, method=method, weights=weights, **only)


def learned(step, side, weights, value="relative error", part="learning means"):
    return one("collective_learning.json", part, value, side=side, weights=weights, **{"E step": step})


def gap(units, truth, value):
    """Gain of King's full covariance, in standard errors."""
    row = rows("king_covariance.json", "rows", units=units, truth=truth)[0]
    return row[f"{value}_gap"] / row[f"{value}_gap_error"]


def grid(method):
    """Seconds over those of belief propagation, on every grid that has both."""
    found = [r for r in rows("cgm_figures.json", "grids/rows") if method in r and "nlbp" in r]
    return np.array([r[method] / r["nlbp"] for r in found])


def ridge(task):
    return [r["kernel over linear"] for r in rows("distribution.json", "ridge", task=task)]


def gamma(method, value="over_bayes"):
    return one("distribution.json", "gamma", value, method=method)


def named(method, value):
    """A value of a method over that of the cardinality model, by data set."""
    mine, ours = (rows("proportions_named.json", "rows", method=m) for m in (method, "cardinality model"))
    return [a[value] / b[value] for a, b in zip(mine, ours, strict=True)]


def elections(prediction, method, level, by):
    return one("election_study.json", "election", "rmse", prediction=prediction, method=method, level=level, by=by)


def hidden(task, size, method):
    return one("election_study.json", "accuracy", "accuracy", hidden=task, bag=size, method=method)


def variable(method, small):
    return one("distribution.json", "variable", "over_bayes", method=method, **{"bags of 5": small})


def population(method, number):
    return one("distribution.json", "gaussian", number, method=method)


def direct(kind=None):
    """Fits at the paper's size of Figure 2.8."""
    found = rows("places_moves.json", "rows", size="paper", EM="direct")
    return [r for r in found if kind is None or r["from"] == kind]


def gap_error(data):
    return one("maxent.json", "nearest", "gap error", data=data)


def ordered(value, b, size, em):
    """Kinds of evidence of Figure 2.8 with their errors, the least first."""
    return sorted((r[value], r["from"]) for r in rows("places_moves.json", "rows", size=size, EM=em) if r["b"] == b)


def stepped(setting, value):
    return one("maxent.json", "steps", value, setting=setting)


def rescaled(setting, value):
    return one("maxent.json", "rescale", value, setting=setting)


CLAIMS = {
    ("000", "ten times as quick as belief propagation damped by 0.05"): lambda: (
        7 < steps("nlbp, damping 0.05", 0.5) / steps("rda", 0.5) < 13
    ),
    ("000", "reaches the target in one draw of ten"): lambda: steps("rda", 5.0, value="reached") == 1,
    ("000", "Accelerated dual averaging reaches it in eight draws"): lambda: (
        steps("accelerated-rda", 5.0, value="reached") == 8
    ),
    ("000", "belief propagation damped by half in none"): lambda: steps("nlbp, damping 0.5", 5.0, value="reached") == 0,
    ("000", "heavily damped or searched belief propagation in all"): lambda: (
        steps("nlbp, damping 0.05", 5.0, value="reached") == steps("nlbp", 5.0, value="reached") == 10
    ),
    ("000", "nine draws in ten never get below their first point"): lambda: (
        steps("dual averaging", 5.0, "averages", "excess left", noise="Poisson") == pytest.approx(0.9, abs=0.01)
    ),
    ("000", "With slopes cut, they come to within a thousandth on average"): lambda: (
        steps("dual averaging, slopes cut at 5", 5.0, "averages", "excess left", noise="Poisson") < 1e-3
    ),
    ("000", "whose slopes stay below 1, every draw reaches the target"): lambda: all(
        r["largest slope"] < 1 and r["reached"] == 10
        for r in rows("cgm_figures.json", "averages/rows", noise="Gaussian", method="dual averaging")
    ),
    ("000", "At large weights it takes twice as many"): lambda: (
        1.7
        < steps("dual averaging", 5.0, "averages", noise="Gaussian")
        / steps("belief propagation", 5.0, "averages", noise="Gaussian")
        < 2.4
    ),
    ("000", "An average of later gradients alone halves the number of steps"): lambda: (
        0.4
        < steps("dual averaging that forgets", 5.0, "averages", noise="Gaussian")
        / steps("dual averaging", 5.0, "averages", noise="Gaussian")
        < 0.65
    ),
    ("000", "Our sampler needs some hundred times as long"): lambda: all(
        70 < r["ratio"] < 200 for r in rows("collective_learning.json", "gibbs means", weights=5.0)
    ),
    ("000", "as fast as the naive schedule"): lambda: grid("nlbp-naive").min() > 4 and grid("nlbp-naive").max() < 15,
    ("000", "The Gaussian approximation is the fastest of the paper's methods here"): lambda: all(
        r["gaussian"] < min(r[k] for k in ("nlbp", "nlbp-naive", "generic") if k in r)
        for r in rows("cgm_figures.json", "grids/rows")
    ),
    ("000", "The Gaussian approximation ends at about twice the error of the dual"): lambda: (
        1.7 < learned("gaussian", 10, 5.0) / learned("dual", 10, 5.0) < 2.4
    ),
    ("000", "about half of its 60 iterations"): lambda: 24 < learned("nlbp", 10, 5.0, "iterations") < 34,
    ("000", "The naive schedule had then made four iterations"): lambda: (
        3.5 <= learned("nlbp-naive", 6, 0.5, "iterations") < 4.6
    ),
    ("000", "At small weights its error there is several times that of the others"): lambda: (
        learned("gaussian", 9, 0.5, part="esteps means") > 3 * learned("dual", 9, 0.5, part="esteps means")
    ),
    ("000", "it is nearer on 4 x 4 places at large weights"): lambda: (
        learned("gaussian", 4, 5.0, part="esteps means") < 0.5 * learned("dual", 4, 5.0, part="esteps means")
    ),
    ("000", "ran out of time after some six iterations"): lambda: all(
        5.5 < learned("nlbp-naive", 4, w, "iterations", "esteps means") < 7 for w in (0.5, 5.0)
    ),
    ("000", "by a third to two thirds of linear ridge's error on the rotation"): lambda: (
        min(ridge("rotation")) > 0.3 and max(ridge("rotation")) < 0.68
    ),
    ("000", "for Fourier features of 512 bags kernel ridge is worse by nearly three standard errors"): lambda: (
        2.5
        < np.log(one("distribution.json", "ridge", "kernel over linear", task="random", bags=512, embedding="Fourier"))
        / one("distribution.json", "ridge", "log error", task="random", bags=512, embedding="Fourier")
        < 3
    ),
    ("000", "The error of the most likely counts is about that of the long run itself"): lambda: all(
        0.9 < r["MAP error"] / r["error of the reference"] < 1.1
        for r in rows("collective_learning.json", "gibbs means", weights=0.5)
    ),
    ("000", "It takes several times as long"): lambda: all(2 < x < 20 for x in named("MCMC over labels", "cpu_s")),
    ("000", "behind by a hundredth on two data sets, level on one, and ahead on one (*owner*)"): lambda: (
        sorted(round(r["gain"], 2) for r in rows("proportions_named.json", "rows", method="MCMC over labels"))[2:]
        == [0.01, 0.01]
        and one("proportions_named.json", "rows", "gain", method="MCMC over labels", data="owner") < -0.004
    ),
    (
        "000",
        "The proportion SVM and cluster selection are behind on all four by more than two standard errors",
    ): lambda: all(
        r["gain"] > 2 * r["gain error"]
        for method in ("proportion SVM", "cluster selection")
        for r in rows("proportions_named.json", "rows", method=method)
    ),
    ("000", "Hard predictions, as in the paper, are several times as far off as expected shares"): lambda: all(
        elections("hard", m, level, by) > 2.5 * elections("expected", m, level, by)
        for m, level, by in product(("mean-emb", "card-ovr"), ("nation", "state"), ("sex", "race", "education"))
    ),
    ("000", "the cardinality model (one-vs-rest) is nearer to the truth than mean embeddings"): lambda: all(
        elections(kind, "card-ovr", level, by) < elections(kind, "mean-emb", level, by)
        for kind, level, by in product(("hard", "expected"), ("nation", "state"), ("sex", "race", "education"))
    ),
    ("000", "AMM is the closest of the three by hard predictions and the farthest by expected shares"): lambda: all(
        elections("hard", "AMM", level, by) < elections("hard", "card-ovr", level, by)
        and elections("expected", "AMM", level, by) > elections("expected", "mean-emb", level, by)
        for level, by in product(("nation", "state"), ("sex", "race", "education"))
    ),
    ("000", "exact and one-vs-rest fits are level, and both are ahead of AMM and mean embeddings"): lambda: all(
        abs(hidden(t, n, "card-exact") - hidden(t, n, "card-ovr")) < 0.005
        and min(hidden(t, n, m) for m in ("card-exact", "card-ovr")) > max(hidden(t, n, m) for m in ("AMM", "mean-emb"))
        for t, n in (("OWN_RENT", 10), ("OWN_RENT", 100), ("education", 10), ("race", 10))
    ),
    ("000", "the network is ahead of every other method on both data sets"): lambda: all(
        one("distribution.json", "clouds", "100", data=data, method="DeepSets")
        > 0.02 + max(r["100"] for r in rows("distribution.json", "clouds", data=data) if r["method"] != "DeepSets")
        for data in ("shapes", "ModelNet10")
    ),
    ("004", "Pyramid match is worst of its kernels with half of the bags small"): lambda: (
        variable("pyramid kernel", 0.5) > max(variable(m, 0.5) for m in ("marginal kernel", "Fourier", "W1 kernel"))
    ),
    ("004", "with a quarter it is ahead of the marginal and Gaussian kernels"): lambda: (
        variable("pyramid kernel", 0.25) < min(variable(m, 0.25) for m in ("marginal kernel", "Fourier"))
    ),
    ("004", "Networks are among the least accurate, those with a sigmoid the least"): lambda: all(
        population("DeepSets, sigmoid", k) == max(r[k] for r in rows("distribution.json", "gaussian")) for k in "123"
    ),
    ("000", "the kinds differ by twenty standard errors and more"): lambda: all(
        abs(r["node MAE less that of moves"]) > 20 * r["error"] for r in direct() if r["from"].startswith("places")
    ),
    ("000", "about single places each error is at most six tenths of the next"): lambda: all(
        a[0] <= 0.6 * b[0] for scale in (10, 50) for a, b in pairwise(ordered("node MAE", scale, "paper", "direct"))
    ),
    ("000", "The order about single places, and that about pairs, is the one of converged fits on 10 x 9"): lambda: all(
        [kind for _, kind in ordered(value, b, "paper", "direct")]
        == [kind for _, kind in ordered(value, b, "large", "to the end") if kind != "places, as Laplace"]
        for value, b in product(("node MAE", "pairwise MAE"), (10, 50))
    ),
    ("000", "Every fit got there, but for one of ten of *places, as Laplace* on *middle* at b = 50"): lambda: (
        [
            (r["size"], r["b"], r["from"], r["draws"] - r["converged"])
            for r in rows("places_moves.json", "rows", EM="to the end")
            if r["converged"] < r["draws"]
        ]
        == [("middle", 50, "places, as Laplace", 1)]
    ),
    ("000", "At b = 50 F is nearly still. At b = 10 it falls by up to tens in a hundred steps"): lambda: (
        [r["most gained by a hundred steps"] > 10 for r in direct("places")] == [True, False]
    ),
    ("000", "F falls fastest"): lambda: all(
        own["most gained by a hundred steps"] > r["most gained by a hundred steps"]
        for own in direct("places, own noise")
        for r in (*direct("moves"), *direct("places"))
    ),
    ("001", "have not converged, except two of ten from *places* at b = 50"): lambda: (
        [(r["from"], r["b"], r["converged"]) for r in direct() if r["steps"] and r["converged"]] == [("places", 50, 2)]
    ),
    ("000", "From moves** F, some 380,000 in all, still falls by tens in a hundred steps"): lambda: all(
        10 < r["most gained by a hundred steps"] < 100 for r in direct("moves")
    ),
    ("000", "About single places it hardly changes"): lambda: all(
        abs(r["since half of the steps"]) < 0.04 for r in direct("places")
    ),
    ("000", "Moves are better at every size, scale and way of fitting, by many standard errors"): lambda: all(
        r["node MAE less that of moves"] > 8 * r["error"]
        for kind in ("places", "places, as Laplace")
        for r in rows("places_moves.json", "rows", **{"from": kind})
        if r["error"] and r["draws"] >= 10
    ),
    ("003", "the tables are less than .001 behind the rows, or ahead (by .002 on attribution's levels, five"): lambda: (
        all(r["gap"] < 0.001 and r["draws"] == 10 for r in rows("maxent.json", "nearest"))
        and 5 < -one("maxent.json", "nearest", "gap", data="attribution") / gap_error("attribution") < 6
    ),
    ("003", "five times the step for the features' model gains at once, by many standard errors"): lambda: (
        stepped("mu 5/K", "gain 25") > 5 * stepped("mu 5/K", "gain 25 error")
    ),
    ("003", "most of the ten data sets end below a constant"): lambda: stepped("both 5/K", "worse than a constant") > 5,
    ("003", "Our default needs no such choice, and is ahead of both"): lambda: (
        stepped("ours", "gain 25") > stepped("mu 5/K", "gain 25") and stepped("ours", "gain 100") > 0
    ),
    ("003", "by half of the score after 25 steps, by medians"): lambda: (
        rescaled("paper, plain", "median 25") < 0.5 * rescaled("paper, rescaled", "median 25")
    ),
    ("003", "The plain one diverges in one seed of ten"): lambda: (
        rescaled("paper, plain", "worse than a constant") == 1 and rescaled("paper, plain", "seeds") == 10
    ),
    ("003", "reach in 25 steps what the paper's do not reach in 200"): lambda: (
        rescaled("ours, rescaled", "step 25") > rescaled("paper, rescaled", "step 200")
    ),
    ("003", "The rescaling gains them little, and less with every step"): lambda: (
        0.005 > rescaled("ours, rescaled", "gain 25") > rescaled("ours, rescaled", "gain 200") > 0
    ),
    ("003", "with a diagonal preconditioner it gains nothing"): lambda: rescaled("diagonal, rescaled", "gain 200") < 0,
    ("004", "better about single units by more than five standard errors"): lambda: gap(400, "correlated", "unit") < -5,
    ("004", "with 100 units, or uncorrelated shares, it makes no difference"): lambda: all(
        abs(gap(units, truth, value)) < 2
        for units, truth in ((100, "correlated"), (100, "uncorrelated"), (400, "uncorrelated"))
        for value in ("share", "unit")
    ),
    ("004", "The Wasserstein kernel and the network are best of the thesis's five methods"): lambda: (
        max(gamma("W1 kernel"), gamma("DeepSets"))
        < min(gamma(m) for m in ("Gaussian kernel", "marginal kernel", "pyramid kernel"))
    ),
    ("004", "err two to three times as much as ours, which are ahead of pyramid match"): lambda: (
        max(gamma("Gaussian kernel"), gamma("marginal kernel")) < gamma("pyramid kernel")
    ),
}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim[1][:60])
def test_a_stated_amount_is_that_of_the_results(claim):
    page, sentence = claim
    assert sentence in (ROOT / "docs" / "book" / f"{page}.toml").read_text("utf-8"), "the page says something else now"
    assert CLAIMS[claim]()
