"""Race from surname and place on generated voters, and intervals that include its uncertainty."""

import numpy as np
import pandas as pd
import pytest

from messages import raises, warns
from sumwise import Margins
from sumwise.ecological import EcologicalEM, King
from sumwise.errors import DataError, ModelWarning
from sumwise.voting import bisg, uncertain_margins


def voters(seed=0, n_places=40):
    """Voters whose surname and place are independent within a group, the tables, and their votes by place."""
    rng = np.random.default_rng(seed)
    name_given_group = rng.dirichlet(0.4 * np.ones(30), 2)
    counts = np.stack([rng.integers(20, 400, n_places), rng.integers(20, 400, n_places)], axis=1)
    place = np.repeat(np.arange(n_places), counts.sum(axis=1))
    group = np.concatenate([np.repeat([0, 1], c) for c in counts])
    surname = np.array([f"name{rng.choice(30, p=name_given_group[g])}" for g in group])
    vote = rng.random(len(group)) < np.array([0.85, 0.25])[group]
    sizes = counts.sum(axis=0)
    by_name = pd.DataFrame(
        (name_given_group * sizes[:, None]).T, index=[f"NAME{k}" for k in range(30)], columns=["a", "b"]
    )
    places = pd.DataFrame(counts, columns=["a", "b"])
    votes = pd.DataFrame({"yes": np.bincount(place[vote]), "no": np.bincount(place[~vote])})
    return surname, place, group, by_name, places, votes


def test_probabilities_are_calibrated_on_generated_voters():
    surname, place, group, names, places, _ = voters()
    p = bisg(surname, place, names, places)["a"].to_numpy()
    for low in np.arange(0, 1, 0.2):
        chosen = (p >= low) & (p < low + 0.2)
        if chosen.sum() > 200:
            assert abs((group[chosen] == 0).mean() - p[chosen].mean()) < 0.05
    unknown = bisg(["nobody"], [0], names, places)
    assert unknown.attrs["unknown surnames"] == 1
    assert unknown["a"][0] == pytest.approx(places["a"][0] / places.loc[0].sum())


@pytest.mark.check
def test_uncertain_groups_widen_intervals_and_other_methods_warn():
    surname, place, _, names, places, votes = voters()
    m = uncertain_margins(bisg(surname, place, names, places), place, votes)
    assert m.row_sd is not None
    assert (m.row_sd > 0).all()
    noisy = Margins(m.rows, m.cols, row_sd=6 * m.row_sd)
    plain = EcologicalEM().fit(Margins(m.rows, m.cols))
    for kind in ("uncorrected", "classical"):
        est = EcologicalEM(row_error=kind).fit(noisy)
        by_chance = [np.sqrt(e.shares_ * (1 - e.shares_)) for e in (est, plain)]  # a correction moves shares, too
        wider = est.standard_errors_ / by_chance[0] / (plain.standard_errors_ / by_chance[1])
        assert (wider > 1.05).all()
        low, high = est.interval(0.95)
        assert low[0, 0] <= 0.85 <= high[0, 0]
    with warns(ModelWarning, "takes-counts-group", "King"):
        King(n_draws=20).fit(noisy)
    assert m[[3]].row_sd.shape == (1, 2)
    assert m == m[np.arange(len(m))]


def test_bad_tables_and_voters_are_refused():
    _, _, _, names, places, votes = voters()
    with raises(DataError, "tables-different-groups"):
        bisg(["x"], [0], names[["b", "a"]], places)
    with raises(DataError, "surnames-places-each", 1, 2):
        bisg(["x"], [0, 1], names, places)
    with raises(DataError, "voters-live-places", 99):
        bisg(["x"], [99], names, places)
    with raises(DataError, "entries-negative-missing"):
        bisg(["x"], [0], -names, places)
    with raises(DataError, "probabilities-must-least"):
        uncertain_margins([[0.5, 0.4]], [0], votes)
    with raises(DataError, "voters-units-dont", 99):
        uncertain_margins([[0.5, 0.5]], [99], votes)
    with raises(DataError, "row-sd-shape"):
        Margins([[1, 1]], [[1, 1]], row_sd=[[0.1]])
