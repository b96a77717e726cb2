"""Levels merged from tables alone: the same tables as if rows had been merged before they were counted."""

import numpy as np
import pandas as pd
import pytest

import sumwise
from sumwise import DataError, Domain, Table, Tables
from sumwise.encoding import Encoding
from sumwise.maxent import MaxEntClassifier, SolverOptions, merge_levels
from sumwise.maxent.merging import level_profiles, margin_of, weighted_clusters
from sumwise.noise import Gaussian, Laplace, Poisson
from sumwise.sparse_table import SparseTable


def rows(n=6000, seed=0):
    rng = np.random.default_rng(seed)
    site = np.minimum(rng.geometric(0.02, n), 180)
    age = (site % 2 + (rng.random(n) < 0.2)) % 3
    page = (site * 7) % 191
    return {"site": site, "page": page, "age": age, "y": (rng.random(n) < 0.1 + 0.6 * (site % 3 == 0)).astype(int)}


NAMES = ["site", "page", "age"]


@pytest.fixture(scope="module")
def tables():
    return Tables.from_frame(rows(), NAMES, label="y")


def again(merged, data, raw=NAMES):
    """Tables of the rows themselves, encoded as the merged tables say."""
    frame = merged.encoding.transform(pd.DataFrame(data)) if merged.encoding else pd.DataFrame(data)
    known = {a: frame[a] if a in frame else data[a] for a in raw}
    return Tables.from_frame({**known, "y": data["y"]}, raw, label="y", domain=merged.domain)


@pytest.mark.parametrize("asked", [{"min_count": 40}, {"max_levels": 12}, {"min_count": 20, "max_levels": 9}])
def test_merged_tables_are_those_of_merged_rows(tables, asked):
    merged = merge_levels(tables, **asked)
    assert [t.counts.tolist() for t in merged] == [t.counts.tolist() for t in again(merged, rows())]
    assert [t.label_sums.tolist() for t in merged] == [t.label_sums.tolist() for t in again(merged, rows())]
    assert merged.n == tables.n
    assert merged.domain["age"] == 3
    if "max_levels" in asked:
        assert 2 <= merged.domain["site"] <= asked["max_levels"]
    if "min_count" in asked:
        assert merged.domain.levels("site")[-1] == "other"


def test_a_model_keeps_what_was_merged(tables, tmp_path):
    merged = merge_levels(tables, min_count=60)
    model = MaxEntClassifier(random_state=0, options=SolverOptions(n_chains=100, max_iter=100, tol=9.0)).fit(merged)
    new = {"site": [1, 179, 5000], "page": [7, 3, 9999], "age": [0, 1, 2]}  # frequent, rare, never counted
    codes = model.encoding_.codes(new)
    assert codes["site"][1] == codes["site"][2] == model.domain_["site"] - 1
    sumwise.save(model, tmp_path / "m.sumwise")
    assert np.array_equal(sumwise.load(tmp_path / "m.sumwise").predict_proba(new), model.predict_proba(new))
    assert model.to_logistic()["encoding"]["site"]["kind"] == "merged"


def test_levels_of_like_rates_and_company_are_put_together(tables):
    merged = merge_levels(tables, "site", max_levels=6)
    site = np.array(list(tables.domain.levels("site")))
    common = np.array([tables["site", "age"].counts.sum(axis=1)[i] > 60 for i in range(len(site))])
    cells = np.array(merged.encoding["site"].cells)
    for g in set(cells[common]):
        kinds = {(v % 2, v % 3 == 0) for v in site[common & (cells == g)]}
        assert len(kinds) == 1
    by_label = np.array(merge_levels(tables, "site", max_levels=2, by="label").encoding["site"].cells)
    assert set(by_label[common & (site % 3 == 0)]) != set(by_label[common & (site % 3 != 0)])


def test_merging_twice_is_merging_what_was_merged(tables):
    once = merge_levels(tables, min_count=30)
    twice = merge_levels(once, ["site", "page"], max_levels=8)
    assert twice.domain["site"] <= 8
    assert [t.counts.tolist() for t in twice] == [t.counts.tolist() for t in again(twice, rows())]
    new, rare = twice.encoding["site"].codes(pd.Series([5000, 178]))
    assert new == rare


def test_an_encoding_is_merged_along(tables):
    raw = pd.DataFrame(rows())
    encoding = Encoding.fit(raw, {"site": {"kind": "hash", "cells": 128}, "age": "levels"})
    counted = sumwise.aggregate.aggregate(raw, ["site", "age"], label="y", encoding=encoding)
    merged = merge_levels(counted, min_count=30)
    assert merged.encoding["site"].rule == encoding["site"]
    assert [t.counts.tolist() for t in merged] == [t.counts.tolist() for t in again(merged, raw, ["site", "age"])]


def test_other_tables_may_tell_what_to_merge(tables):
    data = {k: v[:3000] for k, v in rows().items()}, {k: v[3000:] for k, v in rows().items()}
    first, second = (Tables.from_frame(d, NAMES, label="y", domain=tables.domain) for d in data)
    merged = merge_levels(second, min_count=20, learn_from=first)
    assert merged.encoding == merge_levels(first, min_count=20).encoding
    assert merged.n == 3000
    with pytest.raises(DataError, match="learn_from"):
        merge_levels(tables, min_count=20, learn_from=merged)


def test_sparse_tables_stay_sparse_where_it_pays(tables):
    assert isinstance(tables["site", "page"], SparseTable)
    assert isinstance(merge_levels(tables, "page", min_count=2)["site", "page"], SparseTable)
    assert not isinstance(merge_levels(tables, min_count=60)["site", "page"], SparseTable)


def test_noise_and_withheld_cells_are_added_up():
    domain = Domain({"a": 4})
    noisy = Tables([Table("a", [50.0, 3.0, 40.0, 2.0], noise=Gaussian(3.0))], domain)
    merged = merge_levels(noisy, "a", min_count=10)
    assert merged["a"].counts.tolist() == [50.0, 40.0, 5.0]
    assert merged["a"].noise.scale.tolist() == pytest.approx([3.0, 3.0, 18**0.5])
    poisson = Tables([Table("a", [50.0, 3.0, 40.0, 2.0], noise=Poisson(0.5))], domain)
    assert merge_levels(poisson, "a", min_count=10)["a"].noise == Poisson(0.5)
    withheld = Table(("a", "b"), [[9, 9], [np.nan, 1], [9, 9], [1, 1]], bounds=(np.zeros((4, 2)), np.full((4, 2), 4)))
    both = Tables([withheld, Table("a", [18, 4, 18, 2])], Domain({"a": 4, "b": 2}))
    found = merge_levels(both, "a", min_count=10)["a", "b"]
    assert np.isnan(found.counts[2]).tolist() == [True, False]
    assert found.bounds[1][2, 0] == 5.0
    laplace = Tables([Table("a", [50.0, 3.0, 40.0, 2.0], noise=Laplace(1.0))], domain)
    with pytest.raises(DataError, match="before tables are released"):
        merge_levels(laplace, "a", min_count=10)


def test_nothing_to_merge_gives_the_same_object(tables):
    assert merge_levels(tables, min_count=0) is tables
    assert merge_levels(tables, max_levels=1000) is tables
    assert merge_levels(tables, min_count=40, levels=1000) is tables


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, "Nothing says"),
        ({"min_count": 1e6}, "no level of 'site' has as many: the largest has"),
        ({"max_levels": 1}, "max_levels"),
        ({"min_count": -1}, "min_count"),
        ({"min_count": 3, "by": "rate"}, "by"),
        ({"min_count": 3, "other": ""}, "other is"),
        ({"min_count": 3, "attributes": ["height"]}, "height"),
        ({"min_count": 3, "attributes": ["site", "site"]}, "attributes"),
    ],
)
def test_bad_requests_are_refused(tables, asked, words):
    with pytest.raises(DataError, match=words):
        merge_levels(tables, **asked)


def test_levels_that_say_nothing_are_not_merged_into_one():
    flat = Tables([Table(("a", "b"), np.full((200, 2), 5.0), np.full((200, 2), 1.0))], Domain({"a": 200, "b": 2}))
    with pytest.raises(DataError, match="don't differ beyond chance"):
        merge_levels(flat, max_levels=10)
    bare = Tables([Table("a", np.arange(200.0))], Domain({"a": 200}))
    with pytest.raises(DataError, match="No table has label sums"):
        merge_levels(bare, max_levels=10, by="label")
    with pytest.raises(DataError, match="No other attribute"):
        merge_levels(bare, max_levels=10, by="features")
    with pytest.raises(DataError, match="is complete"):
        merge_levels(Tables([Table("a", [1.0, np.nan])], Domain({"a": 2}), n=5), "a", min_count=2)
    with pytest.raises(DataError, match="in Tables"):
        merge_levels([bare], min_count=2)


def test_parts_of_a_cross_and_crosses_are_refused():
    raw = pd.DataFrame({"a": np.arange(400) % 150, "b": np.arange(400) % 3, "y": np.arange(400) % 2})
    spec = {"a": "levels", "b": "levels", "a x b": {"kind": "cross", "of": ["a", "b"], "cells": 120}}
    encoding = Encoding.fit(raw, spec)
    counted = sumwise.aggregate.aggregate(raw, ["a", "b", "a x b"], label="y", encoding=encoding)
    with pytest.raises(DataError, match="cross 'a x b' is made of 'a'"):
        merge_levels(counted, "a", min_count=3)
    with pytest.raises(DataError, match="is a hashed cross"):
        merge_levels(counted, "a x b", min_count=3)
    plain = sumwise.aggregate.aggregate(raw, ["a", "b"], label="y", encoding=encoding)
    assert merge_levels(plain, "a", min_count=3).encoding["a"].levels[-1] == "other"


def test_a_level_called_other_takes_the_rare_ones_or_is_told():
    table = Table("a", [50.0, 3.0, 4.0])
    domain = Domain({"a": ["x", "y", "other"]})
    assert merge_levels(Tables([table], domain), "a", min_count=10)["a"].counts.tolist() == [50.0, 7.0]
    kept = merge_levels(Tables([Table("a", [50.0, 3.0, 40.0])], domain), "a", min_count=10)
    assert kept["a"].counts.tolist() == [50.0, 43.0]


def sites(effect, n=20_000, levels=120):
    rng = np.random.default_rng(0)
    site = rng.integers(0, levels, n)
    y = rng.random(n) < 0.3 + effect * (site % 2)
    rows = {"site": site, "age": rng.integers(0, 4, n), "y": y.astype(int)}
    return Tables.from_frame(rows, ["site", "age"], label="y")


@pytest.mark.parametrize("by", ["label", "features", "both"])
def test_chance_alone_leaves_levels_at_one_place(by):
    flat = sites(0.0)
    counts, sums = margin_of(flat, "site")
    points = level_profiles(flat, "site", counts, sums, by)
    assert float(counts @ (points**2).sum(axis=1)) < 20  # of a chi-square of 119 or 357 by chance


def test_levels_that_differ_lie_apart():
    steep = sites(0.3)
    counts, sums = margin_of(steep, "site")
    points = level_profiles(steep, "site", counts, sums, "label")[:, 0]
    assert points[1::2].min() > points[::2].max()
    found = weighted_clusters(points[:, None], counts, 2, 0)
    assert len(set(found[::2])) == len(set(found[1::2])) == 1


def test_few_distinct_points_are_clusters_of_their_own():
    assert weighted_clusters(np.array([[0.0], [1.0], [0.0]]), np.ones(3), 5, None).tolist() == [0, 1, 0]
    assert len(set(weighted_clusters(np.arange(9.0)[:, None], np.ones(9), 3, np.random.default_rng(0)))) == 3
