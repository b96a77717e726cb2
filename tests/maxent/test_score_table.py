"""A table of scores: calibration by counts of individuals by predicted probability, exact or released."""

import numpy as np
import pandas as pd
import pytest

from messages import raises
from sumwise import DataError, Table, Tables, load, save, synthetic
from sumwise.aggregate import aggregate
from sumwise.encoding import Encoding
from sumwise.encoding.rules import Cuts
from sumwise.maxent import MaxEntClassifier
from sumwise.maxent.score_table import fit_score_table
from sumwise.metrics import nllh
from sumwise.noise import Gaussian
from sumwise.privacy import Budget, PersonBounds, release


def latent_classes(n, seed):
    """Six attributes that are independent given a latent class, which decides the label's rate."""
    rng = np.random.default_rng(seed)
    of = rng.integers(0, 4, n)
    columns = {}
    for j in range(6):
        chances = rng.dirichlet(np.full(4, 0.7), size=4).cumsum(axis=1)
        columns[f"f{j}"] = np.minimum((rng.random((n, 1)) > chances[of]).sum(axis=1), 3)
    return pd.DataFrame(columns).assign(y=(rng.random(n) < np.array([0.05, 0.2, 0.5, 0.9])[of]).astype(int))


@pytest.fixture(scope="module")
def fitted():
    rows = latent_classes(24_000, 5)
    train, test = rows.iloc[:12_000], rows.iloc[12_000:]
    tables = Tables.from_frame(train, [f"f{j}" for j in range(6)], label="y")
    return MaxEntClassifier(random_state=0).fit(tables), train, test


def test_score_table_counts_everybody_once_and_corrects_too_certain_predictions(fitted):
    model, train, test = fitted
    counted = model.score_table(train, train["y"])
    assert counted.n == len(train)
    assert counted["probability"].label_sums.sum() == train["y"].sum()
    better = model.calibrate(counted)
    assert better.calibration_[0] < 0.9
    before, after = (nllh(test["y"], m.predict_proba(test)[:, 1]) for m in (model, better))
    assert after > before + 0.004


def test_score_table_of_a_database_is_that_of_the_frame(fitted):
    model, train, _ = fitted
    p = pd.DataFrame({"probability_1": model.predict_proba(train)[:, 1], "y": train["y"].to_numpy()})
    by_engine = aggregate(p, ["probability"], "y", order=1, encoding=model.score_encoding())
    assert np.array_equal(
        by_engine["probability"].label_sums, model.score_table(train, train["y"])["probability"].label_sums
    )
    assert model.calibrate(by_engine).calibration_[0] < 0.9


def test_saved_model_takes_the_table_that_was_counted_before(fitted, tmp_path):
    model, train, _ = fitted
    save(model, tmp_path / "m.sumwise")
    again = load(tmp_path / "m.sumwise")
    counted = model.score_table(train, train["y"])
    np.testing.assert_allclose(again.calibrate(counted).calibration_, model.calibrate(counted).calibration_)


def test_calibrated_model_scores_alike_in_sql(fitted):
    duckdb = pytest.importorskip("duckdb")
    model, train, test = fitted
    better = model.calibrate(model.score_table(train, train["y"]))
    people = test.drop(columns="y").head(50)  # noqa: F841 - the query reads it
    with duckdb.connect() as connection:  # the common one may have an unfinished result of another test
        found = connection.sql(better.to_sql("people")).df()["probability_1"]
    np.testing.assert_allclose(found, better.predict_proba(test.head(50))[:, 1], atol=1e-9)


def test_promise_of_a_calibrated_model_has_both_releases(fitted):
    pytest.importorskip("opendp")
    _, train, _ = fitted
    names = [f"f{j}" for j in range(6)]
    budget, tables = Budget(1.0), Tables.from_frame(train, names, label="y")
    model = MaxEntClassifier(random_state=0).fit(release(tables, 0.9, budget=budget, public_levels=True))
    counted = model.score_table(train, train["y"])
    noisy = release(counted, 0.1, budget=budget)  # the levels are the model's: nothing to declare
    assert budget.left == pytest.approx(0.0, abs=1e-9)
    better = model.calibrate(noisy)
    assert [r["epsilon"] for r in better.releases_] == pytest.approx([0.9, 0.1])
    assert model.calibrate(counted).releases_ == []  # counted exactly
    assert model.calibrate(train.head(100), train["y"].head(100)).releases_ == []  # by individuals as they are


def test_neighbours_change_the_score_table_by_the_stated_sensitivity(fitted):
    model, train, _ = fitted
    whole = model.score_table(train, train["y"])["probability"]
    for i in (0, 17, 4711):
        less = train.drop(index=train.index[i])
        table = model.score_table(less, less["y"])["probability"]
        by_class = [np.stack([t.counts - t.label_sums, t.label_sums]) for t in (whole, table)]
        assert np.abs(by_class[0] - by_class[1]).sum() == PersonBounds().reach


def test_levels_of_a_model_of_exact_tables_are_learned_from_rows(fitted):
    model, train, _ = fitted
    with raises(DataError, "levels-classes-cut"):
        release(model.score_table(train, train["y"]), 0.1, budget=None)


def test_several_rows_a_person_must_be_said_again(fitted):
    model, train, _ = fitted
    from copy import copy

    several = copy(model)
    several.releases_ = [{"epsilon": 1.0, "neighbours": "up to 3 rows of one person, added or removed"}]
    with raises(DataError, "tables-dont-say"):
        release(several.score_table(train, train["y"]), 0.1, budget=None)


def test_estimate_is_right_on_average_under_heavy_noise():
    rng = np.random.default_rng(1)
    z = np.linspace(-3, 3, 12)[:, None]
    n, p = np.full(12, 2500.0), 1 / (1 + np.exp(-0.85 * z[:, 0]))
    exact, sd = np.stack([n * (1 - p), n * p]), 60.0
    found = [
        fit_score_table(z, n / n.sum(), exact + sd * rng.standard_normal(exact.shape), np.full(12, sd**2))
        for _ in range(400)
    ]
    slopes = np.array([f[0] for f in found])
    assert slopes.mean() == pytest.approx(0.86, abs=0.015)  # a little of the prior is left
    assert slopes.std() < 0.08


def test_more_noise_changes_less(fitted):
    model, train, _ = fitted
    counted = model.score_table(train, train["y"])
    t = counted["probability"]

    def slope(sd):
        noise = Gaussian(sd)
        table = Table("probability", t.counts, t.label_sums, Gaussian(sd * np.sqrt(2)), label_noise=noise)
        made = Tables([table], counted.domain, label=counted.label, classes=counted.classes, encoding=counted.encoding)
        return model.calibrate(made).calibration_[0]

    assert model.calibrate(counted).calibration_[0] < slope(100.0) < slope(1000.0) < slope(1e6) == pytest.approx(1.0)


def test_wrong_tables_are_refused(fitted):
    model, train, _ = fitted
    counted = model.score_table(train, train["y"])
    with raises(DataError, "table-scores-labels"):
        model.calibrate(counted, train["y"])
    with raises(DataError, "tables-not-table"):
        model.calibrate(Tables.from_frame(train, ["f0"], label="y", order=1))
    other = MaxEntClassifier(50.0, random_state=0).fit(Tables.from_frame(train, ["f0", "f1", "f2"], label="y"))
    with raises(DataError, "table-scores-counted"):
        other.calibrate(counted)
    bare = Encoding({"probability": Cuts("probability_1", counted.encoding.rules["probability"].edges)})
    without = Tables([Table("probability", counted["probability"].counts)], counted.domain, encoding=bare)
    with raises(DataError, "table-scores-no"):
        model.calibrate(without)
    renamed = Tables(list(counted), counted.domain, classes=("no", "yes"), encoding=bare)
    with raises(DataError, "table-scores-classes"):
        model.calibrate(renamed)
    with raises(DataError, "calibrated-classifier-no"):
        model.calibrate(counted).score_table(train, train["y"])
    with raises(DataError, "calibrated-classifier-no-intervals"):
        model.calibrate(counted).predict_interval(train)
    with raises(DataError, "individuals-no-labels"):
        model.calibrate(train)


def test_another_fit_is_not_calibrated(fitted):
    model, train, _ = fitted
    better = model.calibrate(model.score_table(train, train["y"]))
    better.fit(Tables.from_frame(train, ["f0", "f1"], label="y"))
    assert not hasattr(better, "calibration_")


def test_classes_of_text_are_counted_in_place_and_in_a_frame_alike(tmp_path):
    rows = latent_classes(3000, 1).assign(y=lambda d: np.where(d["y"] == 1, "yes", "no"))
    rows.to_parquet(tmp_path / "people.parquet")
    model = MaxEntClassifier(random_state=0).fit(Tables.from_frame(rows, ["f0", "f1", "f2"], label="y"))
    query = model.to_sql(str(tmp_path / "people.parquet"), keep=["y"])
    placed = aggregate(query, ["probability"], "y", order=1, encoding=model.score_encoding())
    found = model.calibrate(placed).calibration_
    np.testing.assert_allclose(found, model.calibrate(model.score_table(rows, rows["y"])).calibration_, atol=1e-12)
    released = release(placed, 50.0, budget=None, public_levels=True)
    np.testing.assert_allclose(model.calibrate(released).calibration_, found, atol=0.02)


def test_predictions_near_certainty_share_a_range():
    """Without a penalty, a cell that never has the label goes to minus infinity."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({name: rng.integers(0, k, 20_000) for name, k in (("a", 5), ("b", 4), ("c", 3))})
    rows["y"] = ((rows["a"] == 1) & (rows["b"] == 2) & (rows["c"] == 0)).astype(int)
    model = MaxEntClassifier(1e-8, random_state=0).fit(Tables.from_frame(rows, ["a", "b", "c"], label="y"))
    better = model.calibrate(model.score_table(rows, rows["y"]))
    assert better.calibration_[0] == 1
    assert nllh(rows["y"], better.predict_proba(rows)) > nllh(rows["y"], model.predict_proba(rows))
    model = MaxEntClassifier(random_state=0).fit(Tables.from_frame(rows, ["a", "b"], label="y"))
    model.offsets_ = np.array([0.0, 60.0])
    with raises(DataError, "model-certain-everybodys"):
        model.score_encoding()


def test_three_classes_are_refused():
    rows = synthetic.rows(500, sizes=[2, 3], random_state=0).frame()
    rows["label"] = np.arange(500) % 3
    model = MaxEntClassifier(random_state=0).fit(Tables.from_frame(rows, list(rows.columns[:2]), label="label"))
    with raises(DataError, "table-scores-two"):
        model.score_table(rows, rows["label"])


def test_a_model_that_predicts_one_rate_has_nothing_to_calibrate():
    rows = pd.DataFrame({"a": [0, 1] * 50, "y": [0, 0, 1, 1] * 25})
    model = MaxEntClassifier(1e9, random_state=0).fit(Tables.from_frame(rows, ["a"], label="y", order=1))
    model.theta_ = np.zeros_like(model.theta_)
    with raises(DataError, "model-predicts-same"):
        model.score_encoding()


def test_slope_of_individuals_that_were_counted_is_at_most_one():
    rows = synthetic.rows(400, sizes=[6, 6, 5], random_state=3).frame()
    names = list(rows.columns[:-1])
    model = MaxEntClassifier(0.05, random_state=0).fit(Tables.from_frame(rows, names, label="label"))
    assert model.calibrate(model.score_table(rows, rows["label"])).calibration_[0] <= 1.0
    z, n = np.linspace(-2, 2, 9)[:, None], np.full(9, 1000.0)
    rate = 1 / (1 + np.exp(-1.5 * z[:, 0] - 0.1))
    slope, shifts = fit_score_table(z, n / n.sum(), np.stack([n * (1 - rate), n * rate]), np.zeros(9))
    assert slope == 1.0
    assert 0.0 < shifts[1] < 0.2
