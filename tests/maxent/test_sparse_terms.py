"""Models of tables that list their cells: nearly those of the tables in full, for less."""

import numpy as np
import pytest

import sumwise
from messages import raises
from sumwise import DataError, Domain, Table, Tables
from sumwise.maxent import MaxEntClassifier, SolverOptions
from sumwise.maxent.sparse_terms import association, full_table, sparse_terms_of
from sumwise.maxent.sufficient_statistics import sufficient_statistics
from sumwise.sparse_table import SparseTable


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    n, levels = 6000, 130
    site = rng.integers(0, levels, n)
    page = np.where(rng.random(n) < 0.95, (site * 7) % levels, rng.integers(0, levels, n))
    age = rng.integers(0, 3, n)
    chance = 0.1 + 0.5 * (site % 3 == 0) + 0.2 * (age == 1)
    return {"site": site, "page": page, "age": age, "y": (rng.random(n) < chance).astype(int)}


@pytest.fixture(scope="module")
def tables(rows):
    domain = Domain({"site": 130, "page": 130, "age": 3})
    return Tables.from_frame(rows, ["site", "page", "age"], label="y", domain=domain)


@pytest.fixture(scope="module")
def model(tables):
    return MaxEntClassifier(options=SolverOptions(n_chains=1000, max_iter=150, tol=0.5), random_state=0).fit(tables)


def in_full(tables):
    return tables.with_tables([Table(t.attributes, t.counts, t.label_sums) for t in tables])


def test_listed_statistics_are_those_of_the_full_tables(tables):
    listed = sparse_terms_of([tables])
    found, full = sufficient_statistics(tables, listed=listed), sufficient_statistics(in_full(tables))
    assert list(listed) == [(0, 1)]
    assert found.n == full.n
    np.testing.assert_allclose(found.shares, full.shares)
    for t, term in enumerate(found.layout.terms):
        mine, other = found.part(t), full.part(full.layout.terms.index(term))
        for ours, theirs in ((found.data.counts, full.data.counts), (found.data.sums[0], full.data.sums[0])):
            np.testing.assert_allclose(full_table(found.layout, t, ours[mine]).ravel(), theirs[other], atol=1e-9)
    np.testing.assert_allclose(found.margin(1), full.margin(1))
    where = found.layout.cliques.index((0, 1))
    counts = tables["site", "page"].counts.ravel()
    assert found.association(where) == pytest.approx(association(np.arange(16900), counts, (130, 130)))


def test_tables_in_full_elsewhere_are_not_listed(tables):
    assert sparse_terms_of([tables, in_full(tables)]) == {}
    wide = Table(("site", "page", "age"), np.full((130, 130, 3), 6000 / 50700))
    assert sparse_terms_of([tables.with_tables([*tables, wide])]) == {}


def test_sparse_tables_of_three_list_their_pairs():
    cells = np.array([5, 130 * 130 * 7 + 9])
    table = SparseTable(("a", "b", "c"), (130, 130, 130), cells, [3.0, 4.0], [1.0, 1.0])
    tables = Tables([table], Domain({"a": 130, "b": 130, "c": 130}), classes=(0, 1))
    listed = sparse_terms_of([tables])
    assert sorted(listed) == [(0, 1), (0, 1, 2), (0, 2), (1, 2)]
    found = sufficient_statistics(tables, listed=listed)
    assert found.layout.n_params == 4 * (2 + 1) + 3 * 130  # two cells each, a place for the others, and the levels
    assert found.shares.tolist() == pytest.approx([5 / 7, 2 / 7])
    bare = sufficient_statistics(tables, margins=False, listed={(0, 1, 2): listed[0, 1, 2]})
    assert bare.shares.tolist() == pytest.approx([5 / 7, 2 / 7])
    assert bare.margin(0)[[0, 7]].tolist() == pytest.approx([3 / 7, 4 / 7])


def test_tied_attributes_are_redrawn_together(model):
    assert model.blocks_ == [(0, 1)]
    drawn = model.sample(2000, random_state=0)
    assert (drawn["page"] == (drawn["site"] * 7) % 130).mean() > 0.6


def test_predictions_are_near_those_of_the_full_tables(model, tables, rows):
    other = MaxEntClassifier(options=SolverOptions(n_chains=1000, max_iter=100, tol=0.0), random_state=0)
    with pytest.warns(sumwise.NotConverged):
        other.fit(in_full(tables))
    mine, theirs = (m.predict_proba(rows)[:, 1] for m in (model, other))
    assert np.abs(mine - theirs).mean() < 0.05
    assert model.theta_.size < 0.2 * other.theta_.size


def test_a_saved_model_predicts_the_same(model, rows, tmp_path):
    sumwise.save(model, tmp_path / "m.sumwise")
    back = sumwise.load(tmp_path / "m.sumwise")
    assert np.array_equal(back.predict_proba(rows), model.predict_proba(rows))
    new = {"site": [5, 129], "page": [None, 0], "age": [1, 7]}
    assert np.array_equal(back.predict_proba(new), model.predict_proba(new))


def test_exported_weights_add_up_to_the_prediction(model, rows):
    plain = model.to_logistic()
    table = {(tuple(w["features"]), tuple(w["levels"])): w["weight"] for w in plain["weights"]}
    one = {k: int(v[0]) for k, v in rows.items()}
    z = plain["intercept"]
    for features in model.terms_:
        z += table.get((features, tuple(one[a] for a in features)), 0.0)
    chance = model.predict_proba({k: [one[k]] for k in ("site", "page", "age")})[0, 1]
    assert chance == pytest.approx(1 / (1 + np.exp(-z)))
    assert len(model.coefficients()) == model.theta_.size - 1  # cells that aren't listed have none


def test_the_rest_of_the_model_works_on_listed_cells(model, tables, rows):
    assert model.expected(["site", "age"], n=200, random_state=0).values.sum() == pytest.approx(6000)
    assert -1 < model.held_out_score(tables, n=500, random_state=0).values[0] < 1
    assert np.isfinite(model.log_density(rows)).all()
    again = MaxEntClassifier(options=SolverOptions(n_chains=500, tol=1.0), random_state=0).fit([tables, tables])
    assert again.n_ == 12000
    by_rows = MaxEntClassifier().fit(tables, rows=rows)
    assert by_rows.predict_proba(rows).shape == (6000, 2)


def test_intervals_of_coefficients_cover_listed_cells(model, tables):
    model.bootstrap(tables, n=2, random_state=0)
    frame = model.coefficient_intervals()
    assert (frame["low"] <= frame["coefficient"]).all()


def test_engines_that_need_all_cells_get_them(tables):
    small = tables.with_tables([t for t in tables if "age" not in t.attributes])
    small = Tables(list(small), small.domain.project(["site", "page"]), classes=(0, 1))
    model = MaxEntClassifier(engine="exact", options=SolverOptions(max_iter=5, tol=100.0)).fit(small)
    assert model.theta_.shape == (1, 16900 + 260)
    with raises(DataError, "fit-takes-tables-type"):
        MaxEntClassifier().fit(["tables"])
