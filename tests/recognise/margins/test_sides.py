"""Which columns are the groups, which the outcomes, and how their sums are related."""

import numpy as np
import pandas as pd
import pytest

from sumwise.recognise.margins.sides import Side, find_sides, kind_of, relation
from sumwise.recognise.profile_file import Column, profile_file


def column(name, values):
    return Column(name, np.asarray(values, dtype=float), None, len(set(values)), 0)


def side(*values, names="ab"):
    return Side([column(n, v) for n, v in zip(names, values)], "count")


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("white", [3, 500, 20], "count"),
        ("white", [0.2, 0.5, 1.0], "share"),
        ("white", [0.2] * 18 + [34, 0.5], "share"),  # one that lacks its point
        ("pct_white", [20, 50, 30], "percent"),
        ("pct_white", [0, 1, 1], "count"),
    ],
)
def test_kinds_are_known_by_size_and_name(name, values, kind):
    assert kind_of(column(name, values)) == kind


def test_relations_of_sums():
    g = side([50] * 40, [50] * 40)
    assert relation(g, side([60] * 40, [40] * 40)).word == "equal"
    one = relation(g, side([60] * 39 + [61], [40] * 40))
    assert (one.word, np.flatnonzero(one.out).tolist()) == ("equal", [39])
    fewer = relation(g, side([30] * 40, [20] * 40))
    assert (fewer.word, fewer.apart, fewer.out) == ("no_vote", 0.5, None)
    some = relation(g, side([30] * 39 + [99], [20] * 40))
    assert (some.word, np.flatnonzero(some.out).tolist()) == ("no_vote", [39])
    near = relation(g, side([52, 48] * 20, [50] * 40))
    assert (near.word, near.apart < 0.03) == ("rescale", True)
    assert relation(g, side([152, 48] * 20, [50] * 40)).word == "far"
    assert (
        relation(g, side([40] * 40, [9] * 40, names=["dem", "novote"])).word == "far"
    )  # not voting is counted already


def test_every_other_number_gets_a_reason(tmp_path):
    rng = np.random.default_rng(1)
    w, b = rng.integers(20, 300, (2, 30))
    frame = pd.DataFrame({"precinct": np.arange(30) + 1, "white": w, "black": b, "dem": w - 3, "rep": b + 3})
    frame = frame.assign(men=w + 9, women=b - 9, income=rng.normal(5e4, 1e4, 30).round(1))
    frame.to_csv(tmp_path / "a.csv", index=False)
    found = find_sides(profile_file(tmp_path / "a.csv"))
    assert found.groups.names == ["white", "black"]
    assert [s.names for s in found.contests] == [["dem", "rep"]]
    assert found.unused["men"].startswith("another way to split people")
    assert found.unused["income"] == "no part of a side; it may be a covariate"
    assert found.unused["precinct"].startswith("reads like the name of a unit")


def election():
    cells = np.random.default_rng(0).integers(20, 90, (30, 2, 5))
    return cells.sum(axis=2), cells.sum(axis=1)


def sides_of(tmp_path, columns):
    pd.DataFrame(columns).to_csv(tmp_path / "a.csv", index=False)
    return find_sides(profile_file(tmp_path / "a.csv"))


def test_candidates_on_both_sides_of_the_groups_are_all_taken(tmp_path):
    groups, votes = election()
    columns = {"NoVote": votes[:, 0], "Villa": votes[:, 1], "Bosley": votes[:, 2], "ovap": groups[:, 0]}
    columns |= {"bvap": groups[:, 1], "Roberts": votes[:, 3], "Ribaudo": votes[:, 4]}
    found = sides_of(tmp_path, columns)
    assert found.groups.names == ["ovap", "bvap"]
    assert [s.names for s in found.contests] == [["NoVote", "Villa", "Bosley", "Roberts", "Ribaudo"]]


def test_men_and_women_are_no_contest_in_any_language(tmp_path):
    groups, votes = election()
    columns = {f"X{20 + 10 * k}.{29 + 10 * k}": votes[:, k] for k in range(5)}
    columns |= {
        "hombres": groups[:, 0],
        "mujeres": groups[:, 1],
        "C1": votes[:, 1] + 1,
        "C2": votes.sum(axis=1) - votes[:, 1] - 1,
    }
    found = sides_of(tmp_path, columns)
    assert [s.names for s in found.contests] == [["C1", "C2"]]
    assert "another way to split people" in found.unused["hombres"]


def test_one_group_of_counts_is_a_side_where_a_total_counts_everybody(tmp_path):
    groups, votes = election()
    columns = {"black": groups[:, 0], "total": groups.sum(axis=1), "dem": votes[:, 0], "rep": votes[:, 1:].sum(axis=1)}
    found = sides_of(tmp_path, columns)
    assert found.groups.names == ["black"]
    assert sides_of(tmp_path, {"age": groups[:, 0] // 9, **{k: v for k, v in columns.items() if k != "black"}}) is None


def test_incomes_and_ages_beside_candidates_are_no_outcomes(tmp_path):
    groups, votes = election()
    n = len(votes)
    columns = {"black": groups[:, 0], "white": groups[:, 1], "Mayor - Hale": votes[:, 0], "Mayor - Voss": votes[:, 1]}
    columns |= {"Clerk - Ames": votes[:, 1], "Clerk - Ruiz": votes[:, 2]}
    columns |= {"Income": 40_000 + np.arange(n) * 37 % 9_000, "Median age": 30 + np.arange(n) % 17}
    found = sides_of(tmp_path, columns)
    assert [s.names for s in found.contests] == [["Mayor - Hale", "Mayor - Voss"], ["Clerk - Ames", "Clerk - Ruiz"]]
    assert all("covariate" in found.unused[name] for name in ("Income", "Median age"))
