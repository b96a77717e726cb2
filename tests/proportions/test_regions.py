"""Regions from overlaps: components by hand, the published 979, and areas that are left out."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import public_data
from sumwise.errors import DataError, UnknownName
from sumwise.proportions import merge_regions

OVERLAPS = pd.DataFrame(
    {
        "county": ["a", "a", "b", "c", "d"],
        "state": ["AL", "AL", "AL", "AL", "TX"],
        "puma": ["1", "2", "2", "3", "1"],
    }
)
VOTES = pd.DataFrame({"county": list("abcd"), "D": [1, 2, 3, 4], "R": [5, 6, 7, 8]})


def test_regions_are_components():
    regions = merge_regions(OVERLAPS, "county", ["state", "puma"], prefix="state")
    assert regions.names.tolist() == ["AL_01", "AL_02", "TX_01"]
    assert regions.totals(VOTES, "county").to_numpy().tolist() == [["AL_01", 3, 11], ["AL_02", 3, 7], ["TX_01", 4, 8]]
    people = pd.DataFrame({"state": ["TX", "AL"], "puma": [1, 2]})
    assert regions.of(people, ["state", "puma"]).tolist() == ["TX_01", "AL_01"]
    assert len(merge_regions(OVERLAPS, "county", "puma")) == 2  # without the state, two areas 1 are one


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12))
def test_components_are_those_of_repeated_merging(pairs):
    regions = merge_regions({"a": [p[0] for p in pairs], "b": [p[1] for p in pairs]}, "a", "b")
    label = list(range(len(pairs)))
    for _ in pairs:
        for i, p in enumerate(pairs):
            for j, q in enumerate(pairs):
                if p[0] == q[0] or p[1] == q[1]:
                    label[i] = label[j] = min(label[i], label[j])
    same = np.equal.outer(label, label)
    np.testing.assert_array_equal(np.equal.outer(*[regions.frame["region"].to_numpy()] * 2), same)


def test_a_county_that_the_crosswalk_leaves_out_is_named():
    regions = merge_regions(OVERLAPS, "county", ["state", "puma"])
    more = pd.concat([VOTES, pd.DataFrame({"county": ["z"], "D": [1], "R": [1]})])
    with pytest.raises(DataError, match=r"leaves out 1 of 5 areas by county \(1 of 5 rows\). First: 'z'."):
        regions.totals(more, "county")
    with pytest.raises(DataError, match="1 areas by county of the crosswalk have no row. First: 'b'. Hint: add them"):
        regions.totals(VOTES[VOTES["county"] != "b"], "county")
    kept = regions.totals(VOTES[VOTES["county"] != "b"], "county", ["D"], missing="drop")
    assert kept["region"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("first", "second", "prefix", "told"),
    [
        ("county", "county", None, "Both maps"),
        ("county", "puma", "state", "reaches over 'AL' and 'TX'"),
        ("county", ["gone", "puma"], None, "missing in 1 of 5"),
    ],
)
def test_bad_crosswalks_are_refused(first, second, prefix, told):
    table = OVERLAPS.assign(gone=["x", None, "x", "x", "x"])
    with pytest.raises(DataError, match=told):
        merge_regions(table, first, second, prefix=prefix)


def test_codes_that_lost_their_zeros_are_told():
    regions = merge_regions({"county": ["01", "02"], "puma": ["1", "2"]}, "county", "puma")
    with pytest.raises(DataError, match="leaves out 2 of 2 areas.*leading zeros, as '01': read them as text"):
        regions.of({"county": [1, 2]}, "county")


def test_unknown_names_are_refused():
    with pytest.raises(UnknownName):
        merge_regions(OVERLAPS, "country", "puma")
    with pytest.raises(DataError, match="no rows"):
        merge_regions(OVERLAPS.iloc[:0], "county", "puma")
    with pytest.raises(DataError, match="named by"):
        merge_regions(OVERLAPS, "county", "puma").of(VOTES, ["D"])


@pytest.mark.skipif(not public_data.present(), reason=public_data.REASON)
def test_the_published_regions_are_found():
    from sumwise import datasets

    walk = datasets.crosswalk()
    walk["county"] = walk["county"].where(walk["stab"] != "AK", "Alaska")  # its votes are of the whole state
    regions = merge_regions(walk, "county", ["state", "puma12"], prefix="stab")
    published = datasets.regions_2016()
    assert len(regions) == len(published) == 979
    votes = datasets.county_results_2008_2016().drop(columns="county").rename(columns={"fips": "county"})
    ours = regions.totals(votes, "county", ["gop_2016"], missing="drop")
    state = ours["region"].str[:2]
    close = []
    for name, theirs in published.groupby(published["region"].str[:2])["votes_R"]:
        mine = np.sort(ours["gop_2016"][state == name])
        if len(mine) == len(theirs):
            close.append(np.abs(mine / np.sort(theirs) - 1))
    assert len(np.concatenate(close)) > 900
    assert np.mean(np.concatenate(close) < 0.001) > 0.8  # the rest were counted on
