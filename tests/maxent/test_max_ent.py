"""The classifier: what it learns, its switches, its refusals."""

import warnings

import numpy as np
import pandas as pd
import pytest

import sumwise
from maxent_settings import classifier
from messages import raises, warns
from sumwise import DataError, Domain, NotConverged, Table, Tables, synthetic
from sumwise.encoding import Encoding
from sumwise.errors import UnknownName
from sumwise.maxent import MaxEntClassifier, SolverOptions, skyline
from sumwise.noise import Gaussian, Laplace

GRID = pd.DataFrame({"x1": [0, 0, 1, 1], "x2": [0, 1, 0, 1], "x3": [0, 1, 1, 0]})


@pytest.fixture(scope="module")
def world():
    """Seven features, with the truth."""
    return synthetic.rows(20_000, sizes=[4, 3, 5, 2, 6, 3, 4], rate=0.3, correlation=0.4, random_state=1)


@pytest.fixture(scope="module")
def people(world):
    frame = world.frame()
    names = list(world.domain.attributes)
    label = next(c for c in frame.columns if c not in names)
    frame = frame.rename(columns={label: "label"})
    return frame, names, Tables.from_frame(frame, names, label="label")


def quietly(model, tables, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        return model.fit(tables, **options)


def nllh(y, p):
    q = np.mean(y)
    return 1 - np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)) / (q * np.log(q) + (1 - q) * np.log(1 - q))


@pytest.mark.parametrize("engine", ["exact", "tree", "loopy", "gibbs"])
def test_xor_is_predicted_as_the_paper_says(engine):
    """Section 4.2: pairwise tables can't show that x3 is the xor of the others; 0.25 and 0.75 become 0.1 and 0.9."""
    example = synthetic.xor(10_000, random_state=0)
    model = MaxEntClassifier(penalty_theta=1e-3, engine=engine, random_state=0).fit(example.expected_tables)
    found = model.predict_proba(GRID)[:, 1]
    np.testing.assert_allclose(found, [0.1, 0.9, 0.9, 0.1], atol=0.01 if engine == "gibbs" else 2e-3)
    assert model.fit_.converged


def test_moments_agree_without_penalty():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 3, 500), "b": rng.integers(0, 2, 500), "c": rng.integers(0, 4, 500)})
    frame["y"] = (rng.random(500) < (1 + frame["a"] * frame["b"]) / 5).astype(int)
    tables = Tables.from_frame(frame, ["a", "b", "c"], label="y")
    model = classifier(penalty_theta=1e-6, penalty_mu=1e-6).fit(tables)
    for table in tables:
        counts = model.expected(list(table.attributes)).values
        np.testing.assert_allclose(counts.sum(axis=-1), table.counts, atol=0.02)
        np.testing.assert_allclose(counts[..., 1], table.label_sums, atol=0.02)


def test_three_classes_and_a_larger_table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 3, 3000), "b": rng.integers(0, 2, 3000), "c": rng.integers(0, 2, 3000)})
    frame["y"] = np.array(["red", "green", "blue"])[(frame["a"] + frame["b"] * frame["c"]) % 3]
    tables = Tables.from_frame(frame, ["a", "b", "c"], label="y", order=3)
    for engine in ("exact", "gibbs"):
        model = quietly(
            MaxEntClassifier(engine=engine, options=SolverOptions(n_chains=2000), random_state=0, penalty_theta=1.0),
            tables,
        )
        assert model.predict_proba(frame).shape == (3000, 3)
        assert (model.predict(frame) == frame["y"]).mean() > 0.99


def test_sampling_agrees_with_the_exact_engine(people):
    frame, names, _ = people
    small = Tables.from_frame(frame, names[:5], label="label")
    exact = MaxEntClassifier(engine="exact").fit(small).predict_proba(frame)[:, 1]
    sampled = MaxEntClassifier(engine="gibbs", random_state=0).fit(small).predict_proba(frame)[:, 1]
    assert np.abs(exact - sampled).mean() < 0.005


@pytest.mark.check
def test_learns_nearly_what_a_logistic_regression_learns_from_the_rows(world, people):
    frame, _, tables = people
    model = MaxEntClassifier(engine="gibbs", options=SolverOptions(n_chains=4000), random_state=0).fit(
        tables, held_out=(frame, frame["label"])
    )
    top = skyline(tables, frame, frame["label"])
    y = frame["label"].to_numpy()
    scores = [nllh(y, m.predict_proba(frame)[:, 1]) for m in (model, top)]
    assert scores[0] > scores[1] - 0.01
    assert model.fit_.converged
    assert model.fit_.history["held_out"][-1] == pytest.approx(scores[0], abs=1e-6)


@pytest.mark.parametrize("penalty_mu", [0.01, 100.0])
def test_it_does_not_matter_which_class_is_the_first(people, penalty_mu):
    frame, names, _ = people
    found = []
    for label in (frame["label"], 1 - frame["label"]):
        tables = Tables.from_frame(frame.assign(label=label), names[:4], label="label")
        found.append(classifier(penalty_mu=penalty_mu, engine="exact").fit(tables).predict_proba(frame))
    np.testing.assert_allclose(found[0], found[1][:, ::-1], atol=1e-4)


def test_saved_and_loaded_it_says_the_same(people, tmp_path):
    frame, _, tables = people
    model = quietly(
        MaxEntClassifier(engine="gibbs", options=SolverOptions(n_chains=200, max_iter=10), random_state=0), tables
    )
    sumwise.save(model, tmp_path / "m")
    loaded = sumwise.load(tmp_path / "m")
    assert np.array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    assert loaded.sample(20, random_state=1).equals(model.sample(20, random_state=1))


def test_stopping_early_says_so(people):
    _, _, tables = people
    with warns(NotConverged, "stopped-after-steps", 5):
        MaxEntClassifier(engine="gibbs", options=SolverOptions(n_chains=200, max_iter=5), random_state=0).fit(tables)


def test_an_unknown_level_drops_its_terms(people):
    frame, names, _ = people
    model = MaxEntClassifier(engine="exact").fit(Tables.from_frame(frame, names[:2], label="label"))
    rows = pd.DataFrame({names[0]: [0, 99], names[1]: [1, 1]})
    told = model.coefficients()
    alone = told[(told["table"] == (names[1],)) & (told["levels"] == (1,))]["coefficient"].item()
    expected = 1 / (1 + np.exp(-(alone + model.offsets_[1])))
    assert model.predict_proba(rows)[1, 1] == pytest.approx(expected)
    with raises(UnknownName, "there-is-no", "column"):
        model.predict_proba(rows[[names[0]]])


def test_an_encoding_travels_with_the_model():
    rng = np.random.default_rng(0)
    raw = pd.DataFrame({"age": rng.uniform(18, 90, 2000), "sex": rng.choice(["f", "m"], 2000)})
    y = (raw["age"] > 50).astype(int)
    enc = Encoding.fit(raw, {"age": "deciles", "sex": "levels"})
    counted = Tables.from_frame(enc.transform(raw).assign(y=y), ["age", "sex"], label="y", domain=enc.domain)
    tables = Tables(list(counted), counted.domain, label="y", encoding=enc)
    model = MaxEntClassifier(penalty_theta=1.0).fit(tables)
    assert model.predict(pd.DataFrame({"age": [20, 80], "sex": ["f", "other"]})).tolist() == [0, 1]


@pytest.mark.check
def test_noisy_tables_of_nearly_equal_totals_are_learned_from(people):
    frame, _, tables = people
    rng = np.random.default_rng(0)

    def blurred(array):
        return array + rng.normal(0, 5, array.shape)

    noisy = [Table(t.attributes, blurred(t.counts), blurred(t.label_sums), Gaussian(5.0)) for t in tables]
    model = MaxEntClassifier(engine="gibbs", options=SolverOptions(n_chains=1000, max_iter=60), random_state=0)
    quietly(model, Tables(noisy, tables.domain, label="label"))
    assert nllh(frame["label"].to_numpy(), model.predict_proba(frame)[:, 1]) > 0.02


def simple(counts, sums, more=None):
    return Tables([Table(("a", "b"), counts, sums)], Domain({"a": 2, "b": 2, **(more or {})}))


def far_totals():
    tables = [
        Table("a", [500.0, 500.0], [100.0, 200.0], Laplace(1.0)),
        Table("b", [700.0, 500.0], [100.0, 200.0], Laplace(1.0)),
    ]
    return Tables(tables, Domain({"a": 2, "b": 2}))


FIVES = [[5, 5], [5, 5]]


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        (lambda: simple(FIVES, [[1, 2], [3, 4]], {"c": 3}), ("attributes-no-table", 1, 3, "c")),
        (lambda: simple(FIVES, None), ("no-table-label",)),
        (lambda: simple(FIVES, np.zeros((2, 2))), ("class-never-occurs", 1, 2)),
        (lambda: simple(FIVES, FIVES), ("class-never-occurs", 0, 2)),
        (lambda: simple(np.zeros((2, 2)), np.zeros((2, 2))), ("table-over-empty", "a", "b")),
        (lambda: pd.DataFrame({"a": [1]}), ("fit-takes-tables-type", "DataFrame")),
        (far_totals, ("differ-more-noise", 2, "a", 1000, 1100, "50.0")),
    ],
    ids=["bare", "no-label", "all-0", "all-1", "empty", "frame", "totals"],
)
def test_tables_that_cannot_be_learned_from_are_refused(tables, words):
    with raises(DataError, *words):
        MaxEntClassifier().fit(tables())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"engine": "magic"}, ("is-takes", "engine", "magic")),
        ({"n_chains": 3}, ("must-least", "n_chains", 3)),
        ({"penalty_theta": -1.0}, ("must-least", "penalty_theta", "-1.0")),
        ({"device": "abacus"}, ("device-cpu-cuda",)),
        ({"preset": "thesis"}, ("is-takes", "preset")),
    ],
    ids=lambda o: next(iter(o)) if isinstance(o, dict) else "",
)
def test_settings_that_make_no_sense_are_refused(options, words):
    frame = {"a": [0, 1, 1], "b": [0, 1, 0], "c": [0, 1, 1], "y": [0, 1, 0]}
    with raises(DataError, *words):
        classifier(**options).fit(Tables.from_frame(frame, ["a", "b", "c"], label="y"))


def test_a_domain_too_large_for_enumeration_is_refused():
    frame = {f"x{i}": list(range(40)) for i in range(5)} | {"y": [0, 1] * 20}
    tables = Tables.from_frame(frame, [f"x{i}" for i in range(5)], label="y")
    with raises(DataError, "joint-table-cells"):
        MaxEntClassifier(engine="exact").fit(tables)
    with raises(DataError, "junction-tree-tables"):
        MaxEntClassifier(engine="tree").fit(tables)


@pytest.mark.check
def test_noise_is_weighed_against_counts(people):
    """With noise of the size of the counts, cells that noise hides are penalised."""
    frame, _, exact = people
    rng = np.random.default_rng(0)
    noise = Laplace(120.0)
    parts = [Table(t.attributes, noise.sample(t.counts, rng), noise.sample(t.label_sums, rng), noise) for t in exact]
    tables = Tables(parts, exact.domain, label="label", classes=exact.classes)
    options = {"engine": "gibbs", "n_chains": 2000, "max_iter": 100, "random_state": 0}
    y = frame["label"].to_numpy()
    found = {}
    for how in (None, "paper"):  # which ignores noise
        model = quietly(classifier(preset=how, **options), tables)
        found[how] = nllh(y, model.predict_proba(frame)[:, 1])
    assert found[None] > max(found["paper"], 0.0) + 0.02


@pytest.mark.parametrize("settings", [{"engine": "gibbs", "n_chains": 64, "max_iter": 2}, {"tol": 0}])
def test_the_warning_points_at_the_line_that_fits(settings):
    with pytest.warns(NotConverged) as told:
        classifier(**settings).fit(synthetic.xor(1000, random_state=0).tables)
    assert told[0].filename == __file__


def test_an_amount_as_label_and_labels_beside_tables_are_refused():
    sums = np.ones((2, 60))
    amounts = Tables([Table("a", sums.sum(axis=1), sums)], Domain({"a": 2}), label="amount", classes=tuple(range(60)))
    with raises(DataError, "label-classes-all", "amount", 60):
        MaxEntClassifier().fit(amounts)
    tables = synthetic.xor(100, random_state=0).tables
    with raises(DataError, "fit-takes-tables", "list"):
        MaxEntClassifier().fit(tables, [0, 1])


def test_exact_training_scores_held_out_individuals_too(people):
    frame, names, _ = people
    small = Tables.from_frame(frame, names[:3], label="label")
    model = MaxEntClassifier().fit(small, held_out=(frame, frame["label"]))
    assert model.engine_ == "exact"
    found = nllh(frame["label"].to_numpy(), model.predict_proba(frame)[:, 1])
    assert model.fit_.history["held_out"][-1] == pytest.approx(found)
    with raises(DataError, "held-out-type", "int"):
        MaxEntClassifier().fit(small, held_out=3)
