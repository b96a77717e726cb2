"""Unlabelled rows in place of the model of x."""

import numpy as np
import pytest

from sumwise import DataError, Tables, synthetic
from sumwise.maxent import MaxEntClassifier, skyline
from sumwise.maxent.penalties import penalties_of
from sumwise.maxent.rows import from_rows
from sumwise.maxent.sufficient_statistics import sufficient


@pytest.fixture(scope="module")
def people():
    made = synthetic.rows(8000, sizes=[4, 3, 5, 4], rate=0.3, correlation=0.5, random_state=1)
    frame, names = made.frame(), list(made.domain.attributes)
    frame = frame.rename(columns={next(c for c in frame.columns if c not in names): "label"})
    return frame, names, Tables.from_frame(frame, names, label="label", domain=made.domain)


def test_all_rows_give_the_logistic_regression_on_them(people):
    """With the counted rows themselves the tables say all that labels would; one penalty is doubled for one sample."""
    frame, names, tables = people
    model = MaxEntClassifier((1.0, 8.0)).fit(tables, rows=frame[names])
    top = skyline(tables, frame, frame["label"], (2.0, 16.0))
    np.testing.assert_allclose(model.predict_proba(frame), top.predict_proba(frame), atol=2e-3)
    assert model.engine_ == "rows"


def test_few_rows_are_trusted_less(people):
    frame, names, tables = people
    few, many = (MaxEntClassifier().fit(tables, rows=frame[names].head(m)) for m in (50, 4000))
    assert np.abs(few.theta_).sum() < np.abs(many.theta_).sum()


def test_what_needs_the_model_of_x_is_refused(people):
    frame, names, tables = people
    model = MaxEntClassifier().fit(tables, rows=frame[names])
    with pytest.raises(DataError, match="trained with rows in place of a distribution"):
        model.sample(3)
    assert model.to_logistic()["weights"]


def test_rows_of_other_levels_are_refused(people):
    _, _, tables = people
    found = sufficient(tables)
    with pytest.raises(DataError, match="No row has levels"):
        from_rows(found, np.full((3, 4), -1), penalties_of(found, 1.0, 1.0).sums)
