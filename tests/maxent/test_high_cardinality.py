"""Attributes of many levels: penalties that their own tables suggest, shared by those that are tied."""

import numpy as np
import pytest

from sumwise import Tables
from sumwise.maxent import MaxEntClassifier
from sumwise.maxent.high_cardinality import copies, effect_variance, large_penalties, tied_groups
from sumwise.maxent.penalties import penalties_of
from sumwise.maxent.sufficient_statistics import sufficient


def rows(sd, n=40_000, levels=400, seed=0):
    rng = np.random.default_rng(seed)
    site = rng.integers(0, levels, n)
    effect = rng.normal(0, sd, levels)
    return {"site": site, "age": rng.integers(0, 3, n), "y": rng.random(n) < 1 / (1 + np.exp(1 - effect[site]))}


@pytest.mark.parametrize("sd", [0.0, 0.2, 0.5])
def test_the_variance_of_effects_is_found(sd):
    found = sufficient(Tables.from_frame(rows(sd), ["site"], label="y", order=1))
    assert effect_variance(found, 0)[0] == pytest.approx(sd**2, abs=0.3 * sd**2 + 0.004)


def test_levels_that_hardly_differ_are_penalised_more_and_never_less():
    flat, steep = (sufficient(Tables.from_frame(rows(sd), ["site", "age"], label="y")) for sd in (0.1, 3.0))
    one = flat.part(flat.layout.terms.index((0,)))
    other = flat.part(flat.layout.terms.index((1,)))
    assert 20 < penalties_of(flat, (1.0, 48.0), 1.0).sums[0, one][0] <= 48
    assert (penalties_of(steep, (1.0, 48.0), 1.0).sums[0, one] == 1.0).all()
    assert (penalties_of(flat, (1.0, 48.0), 1.0).sums[0, other] == 1.0).all()  # three levels aren't many
    assert (penalties_of(flat, (1.0, 48.0), 1.0, large=False).sums[0, one] == 1.0).all()


def test_tied_attributes_share_an_effect():
    data = rows(1.0, n=4000, levels=120)
    data["page"], data["other"] = 119 - data["site"], np.random.default_rng(1).integers(0, 120, 4000)
    found = sufficient(Tables.from_frame(data, ["site", "age", "page", "other"], label="y"))
    assert tied_groups(found) == [{0, 2}]
    times = dict(zip(found.layout.terms, (copies(found)[found.part(t)][0] for t in range(len(found.layout.terms)))))
    assert times[0, 2] == times[0, 1] == times[0,] == times[2, 3] == 2
    assert times[1,] == times[1, 3] == times[3,] == 1
    assert large_penalties(found, np.ones((1, found.layout.n_params)), 48.0).min() >= 1


def test_three_tied_attributes_are_one_group():
    data = rows(1.0, n=3000, levels=110)
    data["page"], data["path"] = 109 - data["site"], (data["site"] * 3) % 110
    found = sufficient(Tables.from_frame(data, ["site", "page", "path"], label="y"))
    assert tied_groups(found) == [{0, 1, 2}]


def test_the_paper_shrinks_nothing():
    assert MaxEntClassifier(preset="paper")._setting("shrink_large") is False
    assert MaxEntClassifier()._setting("shrink_large") is True
