"""One composed promise stands in every artefact of a release."""

import json

import numpy as np
import pandas as pd
import pytest

from messages import raises
from sumwise import DataError, load, save
from sumwise.aggregate import aggregate
from sumwise.encoding import Declaration
from sumwise.io.formats.tables_folder import write_tables_folder
from sumwise.maxent import MaxEntClassifier, NaiveBayesTables
from sumwise.privacy import Budget, release, release_rows
from sumwise.provenance import Promise

pytest.importorskip("opendp", reason="the extra 'privacy' isn't installed")


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"id": np.arange(900), "age": rng.integers(0, 90, 900), "ill": rng.integers(0, 2, 900)})
    ages = {
        "age": {"kind": "quantiles", "bins": 3, "range": [0, 100]},
        "old": {"kind": "cuts", "column": "age", "at": [60]},
    }
    declared = Declaration(ages, label="ill", person="id", max_rows=2)
    return release_rows(rows, declared, 3.0, 1e-6, "gaussian", Budget(3.0, 1e-6))


def test_tables_model_report_and_files_state_the_same_promise(noisy, tmp_path):
    promise = noisy.provenance.promise
    assert (promise.epsilon, promise.delta, promise.unit) == (3.0, 1e-6, "a person")
    model = NaiveBayesTables().fit(noisy)
    assert model.promise == promise
    save(model, tmp_path / "model.sumwise")
    assert load(tmp_path / "model.sumwise").promise == promise
    write_tables_folder(noisy, tmp_path / "noisy")
    facts = json.loads((tmp_path / "noisy" / "summary.json").read_text())
    assert facts["provenance"]["promise"] == json.loads(json.dumps(promise.describe()))
    report = json.loads(model.report(noisy).json())
    assert str(promise) in json.dumps(report["sections"])
    assert report["record"]["promise"] == json.loads(json.dumps(promise.describe()))


def test_several_releases_add_up():
    one = {"mechanism": "geometric", "epsilon": 0.5, "neighbours": "up to 1 row"}
    two = {"mechanism": "gaussian", "epsilon": 1.0, "delta": 1e-6, "neighbours": "up to 3 rows"}
    promise = Promise.of([one, two])
    assert (promise.epsilon, promise.delta, promise.mechanisms) == (1.5, 1e-6, ("geometric", "gaussian"))
    assert promise.neighbours == "up to 1 row; and up to 3 rows"
    assert Promise.of([]) is None
    assert Promise.of([{"of": "levels and cut points", "epsilon": 1.0}]) is None


def test_public_declarations_are_counted_and_learned_ones_are_not():
    rows = {"age": ["17", "forty", "70", None], "w": [5.0, 1.0, -1.0, 1.0]}
    declared = Declaration({"age": {"kind": "cuts", "at": [18]}}, weight="w", max_weight=2.0)
    tables = aggregate(rows, declared, order=1)
    assert tables["age"].counts.tolist() == [2.0, 0.0, 2.0]  # 17 with its weight clipped; forty and None are missing
    assert release(tables, 1.0, mechanism="laplace", budget=None).provenance.promise.epsilon == 1.0
    with raises(DataError, "levels-learned-privately"):
        aggregate(rows, Declaration({"age": {"kind": "quantiles", "range": [0, 99]}}), order=1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": 0.0}, ("epsilon-must-above", "0.0")),
        ({"mechanism": "gaussian"}, ("delta-gaussian-noise-needs", "0.0")),
        ({"subsets": [("age", "place")]}, ("there-is-no", "attribute", "place")),
        ({"order": 2}, ("no-table-asked",)),
    ],
)
def test_a_plan_of_rows_refuses_before_rows_are_read(options, words):
    declared = Declaration({"age": {"kind": "quantiles", "range": [0, 99]}})
    with raises(DataError, *words):
        release_rows("nowhere.csv", declared, **{"order": 1, "budget": None, **options})


def test_rows_of_any_values_have_a_fingerprint(tmp_path, monkeypatch):
    monkeypatch.setenv("SUMWISE_STATE", str(tmp_path / "state"))
    rows = pd.DataFrame({"age": pd.Series([1, "\udcff", None, (1, 2)], dtype=object)})
    budget = Budget(1.0, path=tmp_path / "budget.json")
    release_rows(rows, {"age": {"kind": "cuts", "at": [3]}}, 1.0, budget=budget, order=1)
    assert budget.left == 0


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"id": np.arange(3000) // 2, "age": rng.integers(0, 90, 3000), "sex": rng.choice(["f", "m"], 3000)}
    )
    frame["w"] = rng.uniform(0, 3, 3000)
    odds = frame["age"] / 20 - 2 + (frame["sex"] == "f")
    return frame.assign(ill=(rng.random(3000) < 1 / (1 + np.exp(-odds))).astype(int))


ATTRIBUTES = {
    "age": {"kind": "width", "bins": 6, "range": [0, 90]},
    "sex": {"kind": "levels", "values": ["f", "m"]},
}


@pytest.mark.parametrize("more", [{}, {"person": "id", "max_rows": 1}, {"weight": "w", "max_weight": 2.0}])
def test_declared_rows_are_counted_by_the_scores_of_a_model(people, more):
    declared = Declaration(ATTRIBUTES, label="ill", **more)
    mechanism = "laplace" if "weight" in more else "geometric"
    model = MaxEntClassifier(random_state=0).fit(release_rows(people, declared, 20.0, 0.0, mechanism, None))
    scores = release_rows(people, declared, 50.0, 0.0, mechanism, None, scores=model)
    table = scores["probability"]
    rows = people.groupby("id").head(1) if "person" in more else people
    counted = model.score_table(rows, rows["ill"])["probability"]
    if not more:
        assert np.abs(table.counts - counted.counts).max() <= 2  # noise of scale 1/50
        assert np.abs(table.label_sums - counted.label_sums).max() <= 2
    expected = rows["w"].clip(upper=2.0).sum() if "weight" in more else len(rows)
    assert abs(table.counts.sum() - expected) < 5
    better = model.calibrate(scores)
    assert better.promise.epsilon == 70.0
    assert 0.5 < better.calibration_[0] <= 1.0


def test_scores_that_depend_on_exact_counts_or_other_classes_are_refused(people):
    declared = Declaration(ATTRIBUTES, label="ill")
    exact = MaxEntClassifier(random_state=0).fit(aggregate(people, declared))
    with raises(DataError, "model-fitted-exact"):
        release_rows(people, declared, 1.0, budget=None, scores=exact)
    noisy = MaxEntClassifier(random_state=0).fit(release_rows(people, declared, 20.0, budget=None))
    with raises(DataError, "declared-label-other"):
        release_rows(people, Declaration(ATTRIBUTES), 1.0, budget=None, scores=noisy)


def test_a_row_that_the_model_cannot_score_stops_nothing(people):
    declared = Declaration(ATTRIBUTES, label="ill")
    model = MaxEntClassifier(random_state=0).fit(release_rows(people, declared, 20.0, budget=None))
    strange = {"age": ["forty", "inf", None], "sex": ["x9", "", "f"], "ill": [1, 0, "yes"]}
    scores = release_rows(strange, declared, 50.0, budget=None, scores=model)
    assert abs(scores["probability"].counts.sum() - 2) < 3


def test_a_declared_budget_is_the_ledger_of_a_file(people, tmp_path, monkeypatch):
    monkeypatch.setenv("SUMWISE_STATE", str(tmp_path / "state"))
    people.to_parquet(tmp_path / "people.parquet")
    declared = Declaration(ATTRIBUTES, budget={"epsilon": 1.0, "delta": 1e-6, "mechanism": "gaussian"})
    noisy = release_rows(tmp_path / "people.parquet", declared, 0.9)
    promise = noisy.provenance.promise
    assert (promise.epsilon, promise.delta, promise.mechanisms) == (0.9, 1e-6, ("gaussian",))
    with raises(DataError, "budget-epsilon-left"):
        release_rows(tmp_path / "people.parquet", declared)
    with raises(DataError, "budget-not-nothing"):
        release_rows(people, declared)  # no file, no ledger beside it
    for wrong in ({"delta": 1e-6}, {"epsilon": 0.0}, {"epsilon": 1.0, "epsilom": 2.0}, 1.0):
        with pytest.raises(DataError):
            Declaration(ATTRIBUTES, budget=wrong)


def test_tables_of_declared_rows_spend_from_the_ledger_of_their_file(people, tmp_path, monkeypatch):
    monkeypatch.setenv("SUMWISE_STATE", str(tmp_path / "state"))
    people.to_csv(tmp_path / "people.csv", index=False)
    tables = aggregate(tmp_path / "people.csv", Declaration(ATTRIBUTES))
    release(tables, 1.0, budget=Budget(1.0, path=tmp_path / "one.json"))
    with raises(DataError, "ledger-data-other"):
        release_rows(tmp_path / "people.csv", ATTRIBUTES, 1.0, budget=Budget(1.0, path=tmp_path / "two.json"))
