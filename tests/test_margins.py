import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.model_selection import GridSearchCV, KFold, cross_validate

from messages import raises
from sumwise import Margins
from sumwise.errors import DataError
from sumwise.estimator import Estimator

ROWS = np.array([[60, 40], [10, 90], [50, 50]])
COLS = np.array([[55, 45], [30, 70], [100, 0]])


@pytest.fixture
def margins():
    return Margins(
        ROWS, COLS, units=["p1", "p2", "p3"], row_names=["a", "b"], col_names=["yes", "no"], covariates=[1.0, 2.0, 3.0]
    )


def test_shapes_and_shares(margins):
    assert margins.shape == (3,)
    assert len(margins) == margins.n_units == 3
    assert (margins.n_rows, margins.n_cols) == (2, 2)
    assert margins.totals.tolist() == [100, 100, 100]
    assert margins.row_shares[0].tolist() == [0.6, 0.4]
    assert margins.col_shares[2].tolist() == [1.0, 0.0]
    assert margins.covariates.shape == (3, 1)
    assert margins.covariate_names == ("z0",)
    assert margins.weights.tolist() == [1, 1, 1]


def test_empty_unit_has_shares_of_zero():
    margins = Margins([[0, 0], [1, 1]], [[0, 0], [2, 0]])
    assert margins.row_shares[0].tolist() == [0, 0]
    assert margins.describe()["empty units"] == 1


@pytest.mark.parametrize(
    "index", [[0, 2], np.array([0, 2]), np.array([True, False, True]), slice(0, 3, 2), (np.array([0, 2]), ...)]
)
def test_indexing_takes_whole_units(margins, index):
    part = margins[index]
    assert part.units.tolist() == ["p1", "p3"]
    assert np.array_equal(part.rows, ROWS[[0, 2]])
    assert np.array_equal(part.covariates, [[1.0], [3.0]])
    assert part.row_names == margins.row_names


def test_one_unit_and_repeats(margins):
    assert len(margins[1]) == 1
    assert margins[-1].units.tolist() == ["p3"]
    assert margins[[0, 0, 1]].units.tolist() == ["p1", "p1", "p2"]  # a bootstrap draw
    with pytest.raises(IndexError):
        margins[3]


def test_frozen(margins):
    with pytest.raises(ValueError, match="read-only"):
        margins.rows[0, 0] = 1
    with pytest.raises(AttributeError):
        margins.rows = ROWS


def test_input_may_change_afterwards():
    rows = ROWS.astype(float)
    margins = Margins(rows, COLS)
    rows[0, 0] = -1
    assert margins.rows[0, 0] == 60


def test_equality_copy_pickle(margins):
    for twin in (copy.deepcopy(margins), pickle.loads(pickle.dumps(margins)), margins[:]):
        assert twin == margins
    assert margins != margins[[0, 1]]
    assert margins != Margins(ROWS, COLS)
    assert margins != 3
    with pytest.raises(TypeError):
        hash(margins)


def test_repr_html_describe(margins):
    assert repr(margins) == "Margins(units=3, rows=[a, b], cols=[yes, no], total=300)"
    assert "&lt;script&gt;" in Margins(ROWS, COLS, row_names=["<script>", "b"])._repr_html_()
    facts = margins.describe()
    assert facts["row totals"] == {"a": 120.0, "b": 180.0}
    assert facts["homogeneous units"] == 0


def test_frames_give_names():
    margins = Margins(pd.DataFrame(ROWS, columns=["a", "b"]), pl.DataFrame({"y": COLS[:, 0], "n": COLS[:, 1]}))
    assert margins.row_names == ("a", "b")
    assert margins.col_names == ("y", "n")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cols": [[55, 45], [30, 70], [100, 1]]}, ("row-column-totals", 1, 3, "p3")),
        ({"rows": [[60, 40], [10, 90]]}, ("lengths-differ-entry", 2, 3)),
        ({"rows": [[60, -40], [10, 90], [50, 50]]}, ("negative-counts-start",)),
        ({"rows": [[60, np.nan], [10, 90], [50, 50]]}, ("drop-fill-such",)),
        ({"rows": [[60, np.inf], [10, 90], [50, 50]]}, ("drop-fill-such",)),
        ({"rows": [["a", "b"]] * 3}, ("dtype-must-hold",)),
        ({"rows": [60, 10, 50]}, ("dimensions-shape-needs", 1)),
        ({"rows": np.zeros((0, 2)), "cols": np.zeros((0, 2)), "units": None}, ("shape-needs-least",)),
        ({"rows": np.zeros((3, 0))}, ("shape-needs-least",)),
        ({"units": ["p1", "p1", "p3"]}, ("holds-duplicates-first",)),
        ({"units": ["p1", "p2"]}, ("entries-units", 2, 3)),
        ({"row_names": ["a"]}, ("names-columns", 1, 2)),
        ({"row_names": ["a", "a"]}, ("holds-duplicates-first",)),
        ({"weights": [1, 2]}, ("lengths-differ-entry", 2)),
        ({"weights": [1, -2, 1]}, ("negative-counts-start",)),
        ({"weights": [0, 0, 0]}, ("all-unit-weights",)),
        ({"covariates": [1, 2]}, ("lengths-differ-entry", 2)),
        ({"covariates": [1, np.nan, 2]}, ("drop-fill-such",)),
        ({"covariate_names": ["z"]}, ("covariate-names-without",)),
        ({"rows": [[2**60, 40], [10, 90], [50, 50]]}, ("holds-whole-numbers",)),
    ],
)
def test_bad_input_is_refused(change, words):
    given = {"rows": ROWS, "cols": COLS, "units": ["p1", "p2", "p3"], **change}
    with raises(DataError, *words):
        Margins(**given)


@given(
    hnp.arrays(
        np.float64, st.tuples(st.integers(1, 5), st.integers(1, 4)), elements=st.just(0.0) | st.floats(1e-6, 1e12)
    ),
    st.data(),
)
def test_any_matching_margins_are_kept_as_given(rows, data):
    share = data.draw(hnp.arrays(np.float64, (len(rows), 3), elements=st.floats(0.01, 1)))
    cols = share / share.sum(axis=1, keepdims=True) * rows.sum(axis=1, keepdims=True)
    margins = Margins(rows, cols)
    assert np.array_equal(margins.rows, rows)
    assert np.allclose(margins.row_shares.sum(axis=1), margins.totals > 0)
    order = data.draw(st.permutations(range(len(rows))))
    assert np.array_equal(margins[order].cols, cols[order])


class MeanShare(Estimator):
    def __init__(self, pull=0.0):
        self.pull = pull

    def fit(self, margins, y=None):
        self.share_ = (1 - self.pull) * margins.col_shares.mean(axis=0) + self.pull / margins.n_cols
        return self

    def score(self, margins, y=None):
        return -float(np.abs(margins.col_shares - self.share_).mean())


def test_scikit_learn_splits_by_unit(margins):
    scores = cross_validate(MeanShare(), margins, cv=3)["test_score"]
    assert scores.shape == (3,)
    search = GridSearchCV(MeanShare(), {"pull": [0.0, 1.0]}, cv=KFold(3)).fit(margins)
    assert search.best_params_["pull"] in (0.0, 1.0)
    assert search.best_estimator_.share_.shape == (2,)


def test_copies_are_as_frozen_as_the_original(margins):
    for twin in (copy.deepcopy(margins), pickle.loads(pickle.dumps(margins)), margins[[0, 0]]):
        for name in ("rows", "cols", "units", "weights"):
            assert not getattr(twin, name).flags.writeable, name


def test_an_index_that_chooses_no_units_is_refused(margins):
    for index in ([[0, 1]], None, True, (0, 1)):
        with raises(DataError, "units-cant-chosen|units-cant-chosen-position"):
            margins[index]


def test_no_units_can_be_described(margins):
    facts = margins[[]].describe()
    assert facts["units"] == facts["smallest unit"] == facts["largest unit"] == 0
