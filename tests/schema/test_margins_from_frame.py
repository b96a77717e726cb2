import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.pandas import column, data_frames

from messages import raises, warns
from sumwise import Margins
from sumwise.errors import DataError, ModelWarning, SumwiseError, UnknownName


@pytest.fixture
def counts():
    return pd.DataFrame(
        {
            "p": ["001", "1"],
            "white": [60, 10],
            "black": [40, 90],
            "dem": [55, 30],
            "rep": [45, 70],
            "vap": [100, 100],
            "name": ["x", "y"],
        }
    )


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_counts_from_any_frame(counts, kind):
    margins = Margins.from_frame(kind(counts), ["white", "black"], ["rep", "dem"], unit="p")
    assert margins.units.tolist() == ["001", "1"]
    assert margins.row_names == ("white", "black")
    assert margins.col_names == ("rep", "dem")
    assert margins.cols.tolist() == [[45, 55], [70, 30]]
    assert margins.denominator == "row totals of each unit"


def test_total_of_counts_is_checked_and_named(counts):
    margins = Margins.from_frame(counts, ["white", "black"], ["dem", "rep"], total="vap")
    assert margins.denominator == "column 'vap'"
    with raises(DataError, "units-first-unit", "total", 1, 2):
        Margins.from_frame(counts.assign(vap=[100, 120]), ["white", "black"], ["dem", "rep"], total="vap")


def test_shares_need_to_sum(counts):
    shares = pd.DataFrame({"w": [0.6, 0.1], "b": [0.4, 0.9], "d": [0.55, 0.3], "r": [0.45, 0.7], "n": [200, 50]})
    margins = Margins.from_frame(shares, ["w", "b"], ["d", "r"], total="n")
    assert margins.rows.tolist() == [[120.0, 80.0], [5.0, 45.0]]
    with raises(DataError, "units-first-unit", "total", 1, 2):
        Margins.from_frame(shares.assign(d=[0.5, 0.3]), ["w", "b"], ["d", "r"], total="n")
    with raises(DataError, "shares-sum-total-units", "d, r", "1.35", 1):
        Margins.from_frame(shares.assign(d=[0.9, 0.3]), ["w", "b"], ["d", "r"], total="n")


def test_rest_fills_up_the_total():
    df = pd.DataFrame({"x": [0.25, 1.0], "t": [0.5, 0.0], "n": [100, 10]})
    margins = Margins.from_frame(df, {"black": "x", "white": None}, {"yes": "t", "no": None}, total="n")
    assert margins.rows.tolist() == [[25.0, 75.0], [10.0, 0.0]]
    assert margins.row_names == ("black", "white")
    with raises(DataError, "name-column-everybody"):
        Margins.from_frame(df, {"black": "x", "white": None}, ["t"])
    with raises(DataError, "units-first-unit-against", "total"):
        Margins.from_frame(df.assign(x=[120, 1]), {"black": "x", "white": None}, {"yes": "t", "no": None}, total="n")


def test_mismatch_is_refused_or_settled_by_name(counts):
    df = counts.assign(dem=[50, 30])
    with raises(DataError, "units-first-unit", "total", 1, 2, "001", 95, 100):
        Margins.from_frame(df, ["white", "black"], ["dem", "rep"], unit="p")
    scaled = Margins.from_frame(df, ["white", "black"], ["dem", "rep"], unit="p", mismatch="rescale")
    assert scaled.cols.sum(axis=1) == pytest.approx([100, 100])
    assert "1 units rescaled" in scaled.denominator
    rest = Margins.from_frame(df, ["white", "black"], ["dem", "rep"], unit="p", mismatch="no_vote")
    assert rest.col_names == ("dem", "rep", "no vote")
    assert rest.cols[:, 2].tolist() == [5.0, 0.0]
    with raises(DataError, "units-first-unit-against", "total"):
        Margins.from_frame(counts.assign(dem=[99, 30]), ["white", "black"], ["dem", "rep"], mismatch="no_vote")
    zero = counts.assign(dem=[0, 30], rep=[0, 70])
    with raises(DataError, "units-first-unit-against", "rescaled"):
        Margins.from_frame(zero, ["white", "black"], ["dem", "rep"], mismatch="rescale")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rows": "white"}, ("list-columns-dict",)),
        ({"rows": []}, ("names-no-columns",)),
        ({"rows": ["white", "white"]}, ("holds-duplicates-first",)),
        ({"rows": ["white", "dem"]}, ("column-rows-cols",)),
        ({"rows": ["whit"]}, ("no-did-you", "white")),
        ({"rows": {"a": None, "b": None, "c": "white"}}, ("more-rest-column",)),
        ({"rows": {"a": None}}, ("names-no-column",)),
        ({"mismatch": "ignore"}, ("is-takes", "mismatch", "ignore")),
        ({"rows_in": "votes"}, ("is-takes", "rows_in", "votes")),
        ({"unit": "precinct"}, ("there-is-no", "column", "precinct")),
        ({"rows": ["white", "name"]}, ("column-rows-first-correct", "name")),
    ],
)
def test_bad_options_are_refused(counts, options, words):
    given = {"rows": ["white", "black"], "cols": ["dem", "rep"], **options}
    with raises(DataError, *words):
        Margins.from_frame(counts, **given)


def test_duplicate_units_and_empty_frames_are_refused(counts):
    with raises(DataError, "rows-first-each-unit", "p"):
        Margins.from_frame(counts.assign(p="x"), ["white", "black"], ["dem", "rep"], unit="p")
    with raises(DataError, "columns-no-rows"):
        Margins.from_frame(counts.iloc[:0], ["white", "black"], ["dem", "rep"])
    with pytest.raises(UnknownName):
        Margins.from_frame(counts, ["white", "black"], ["dem", "rep"], weight="w")


def test_weights_and_covariates_come_along(counts):
    margins = Margins.from_frame(counts, ["white", "black"], ["dem", "rep"], weight="vap", covariates=["black"])
    assert margins.weights.tolist() == [100, 100]
    assert margins.covariate_names == ("black",)


mess = data_frames(
    [
        column("a", elements=st.one_of(st.floats(), st.text(max_size=3), st.none(), st.integers(-5, 5)), dtype=object),
        column("b", elements=st.floats(allow_nan=True, allow_infinity=True)),
        column("c", elements=st.integers(-3, 9), dtype="int64"),
    ]
)


@given(mess, st.sampled_from(["raise", "rescale", "no_vote"]), st.sampled_from([None, "c"]))
def test_malformed_frames_give_only_our_errors(frame, mismatch, total):
    try:
        margins = Margins.from_frame(frame, ["a"], ["b"], total=total, mismatch=mismatch)
    except SumwiseError:
        return
    assert abs(margins.rows.sum(axis=1) - margins.cols.sum(axis=1)).max() <= 1e-9 * margins.totals.max()


def test_columns_may_come_as_an_index_or_an_array(counts):
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4], "y": [4, 6]})
    for rows in (frame.columns[:2], frame.columns[:2].to_numpy()):
        assert Margins.from_frame(frame, rows, ["y"]).row_names == ("a", "b")


def shares(**changes):
    given = {"w": [0.6, 0.1], "b": [0.4, 0.9], "d": [0.55, 0.3], "r": [0.45, 0.7], "n": [2000, 500]}
    return pd.DataFrame({**given, **changes})


def test_overlapping_shares_are_refused_whatever_mismatch_says():
    overlapping = shares(h=[0.2, 0.3])
    for mismatch in ("raise", "rescale", "no_vote", "drop"):
        with raises(DataError, "shares-sum-total", "rows", "1.2", "1.3", 2):
            Margins.from_frame(overlapping, ["w", "b", "h"], ["d", "r"], total="n", mismatch=mismatch)


def test_shares_that_miss_one_by_rounding_are_set_right():
    rounded = shares(w=[0.333, 0.1], b=[0.666, 0.9])  # one thousandth is lost
    margins = Margins.from_frame(rounded, ["w", "b"], ["d", "r"], total="n")
    np.testing.assert_allclose(margins.rows.sum(axis=1), [2000, 500])
    with raises(DataError, "units-first-unit"):
        Margins.from_frame(shares(w=[0.3331, 0.1], b=[0.6, 0.9]), ["w", "b"], ["d", "r"], total="n")


def test_percents_are_read_as_such():
    percents = shares(w=[60.0, 10.0], b=[40.0, 90.0])
    margins = Margins.from_frame(percents, ["w", "b"], ["d", "r"], total="n")
    assert margins.rows.tolist() == [[1200, 800], [50, 450]]
    rest = Margins.from_frame(percents, {"w": "w", "others": None}, ["d", "r"], total="n", rows_in="percent")
    assert rest.rows.tolist() == [[1200, 800], [50, 450]]
    with raises(DataError, "no-total-take", "rows"):
        Margins.from_frame(percents, ["w", "b"], ["d", "r"], rows_in="percent")


def test_a_rest_that_swallows_the_total_is_refused():
    percents = shares(w=[60.0, 10.0], n=[20000, 50000])
    with raises(DataError, "almost-all-rest", "others", 70, 70000):
        Margins.from_frame(percents, {"w": "w", "others": None}, ["d", "r"], total="n")


def test_a_line_of_totals_is_refused():
    frame = pd.DataFrame(
        {"p": list("abcd"), "w": [5, 6, 7, 9], "b": [3, 2, 1, 8], "d": [4, 4, 4, 9], "r": [4, 4, 4, 8]}
    )
    total = frame.drop(columns="p").sum().to_frame().T.assign(p="TOTAL")
    assert len(Margins.from_frame(frame, ["w", "b"], ["d", "r"], "p")) == 4
    with raises(DataError, "unit-sum-all", "TOTAL"):
        Margins.from_frame(pd.concat([frame, total]), ["w", "b"], ["d", "r"], "p")


def test_groups_that_exceed_their_total_are_refused():
    frame = pd.DataFrame({"w": [50, 60], "b": [40, 30], "h": [30, 20], "d": [50, 50], "r": [50, 50], "n": [100, 100]})
    with raises(DataError, "rows-sum-times", "1.15"):
        Margins.from_frame(frame, ["w", "b", "h"], ["d", "r"], total="n", mismatch="rescale")


def test_units_that_differ_can_be_left_out_and_are_named():
    frame = pd.DataFrame({"p": list("abc"), "w": [5, 6, 7], "b": [3, 2, 1], "d": [4, 5, 4], "r": [4, 4, 4]})
    margins = Margins.from_frame(frame, ["w", "b"], ["d", "r"], "p", mismatch="drop")
    assert margins.units.tolist() == ["a", "c"]
    assert margins.denominator.endswith("1 of 3 units left out whose sides differ ('b')")
    with raises(DataError, "rows-cols-different"):
        Margins.from_frame(frame.assign(d=20), ["w", "b"], ["d", "r"], "p", mismatch="drop")


def test_units_that_are_rescaled_by_a_lot_are_named():
    frame = pd.DataFrame({"p": list("abc"), "w": [5, 6, 70], "b": [3, 2, 10], "d": [4, 4, 4], "r": [4, 4, 4]})
    with warns(ModelWarning, "units-rescaled-more", "cols", 1, 3, 20, "c", 8, 80):
        Margins.from_frame(frame, ["w", "b"], ["d", "r"], "p", mismatch="rescale")


def test_errors_of_groups_are_scaled_as_their_counts():
    frame = pd.DataFrame({"x": [0.25, 0.0], "e": [0.1, 0.05], "t": [0.5, 0.75], "n": [100, 200]})
    sides = {"rows": {"black": "x", "white": None}, "cols": {"yes": "t", "no": None}, "total": "n"}
    found = Margins.from_frame(frame, **sides, row_sd=["e"])
    np.testing.assert_allclose(found.row_sd, [[10, 10], [10, 10]])  # the rest is off by as much
    counts = pd.DataFrame({"a": [6, 8], "b": [4, 8], "e": [1, 2], "f": [2, 4], "y": [6, 8], "n": [5, 9]})
    half = Margins.from_frame(counts, ["a", "b"], ["y", "n"], mismatch="rescale", row_sd=["e", "f"])
    np.testing.assert_allclose(half.row_sd / half.rows, [[1 / 6, 0.5], [0.25, 0.5]])
    with raises(DataError, "columns-groups", "one"):
        Margins.from_frame(counts, ["a", "b"], ["y", "n"], mismatch="rescale", row_sd=["e"])


def test_units_with_braces_in_their_names_are_listed_as_they_are():
    frame = pd.DataFrame({"u": ["{}", "b"], "a": [1, 2], "b": [1, 2], "c": [1, 2], "d": [3, 4]})
    with raises(DataError, "units-first-unit", 2, "{}', 'b", "{}", 4):
        Margins.from_frame(frame, ["a", "b"], ["c", "d"], "u")


@pytest.fixture
def returns():
    """Three precincts: adults, votes for two candidates, and people who turned out."""
    return pd.DataFrame(
        {
            "p": ["a", "b", "c"],
            "anglo": [500, 300, 100],
            "latino": [100, 300, 500],
            "ruiz": [90, 120, 150],
            "hale": [200, 100, 40],
            "cast": [300, 230, 200],
        }
    )


SIDES = {"rows": ["anglo", "latino"], "unit": "p", "ballots": "cast"}


def test_ballots_beyond_the_votes_are_undervotes_and_people_beyond_the_ballots_no_vote(returns):
    m = Margins.from_frame(returns, cols=["ruiz", "hale"], mismatch="no_vote", **SIDES)
    assert m.col_names == ("ruiz", "hale", "undervote", "no vote")
    assert m.cols.tolist() == [[90, 200, 10, 300], [120, 100, 10, 370], [150, 40, 10, 400]]
    named = Margins.from_frame(
        returns, cols={"ruiz": "ruiz", "hale": "hale", "blank": None}, mismatch="no_vote", **SIDES
    )
    assert named.col_names == ("ruiz", "hale", "blank", "no vote")
    assert (named.cols == m.cols).all()


def test_ballots_that_all_hold_a_vote_add_no_outcome(returns):
    frame = returns.assign(cast=returns["ruiz"] + returns["hale"])
    m = Margins.from_frame(frame, cols=["ruiz", "hale"], mismatch="no_vote", **SIDES)
    assert m.col_names == ("ruiz", "hale", "no vote")
    voters = frame.assign(anglo=frame["cast"] - 50, latino=50)
    assert Margins.from_frame(voters, cols=["ruiz", "hale"], **SIDES).col_names == ("ruiz", "hale")


def test_shares_of_votes_are_of_the_ballots(returns):
    frame = returns.assign(ruiz=returns["ruiz"] / returns["cast"], hale=returns["hale"] / returns["cast"])
    m = Margins.from_frame(frame, cols=["ruiz", "hale"], mismatch="no_vote", **SIDES)
    np.testing.assert_allclose(m.cols, [[90, 200, 10, 300], [120, 100, 10, 370], [150, 40, 10, 400]])


def test_people_without_a_ballot_are_refused_unless_they_are_said_not_to_vote(returns):
    with raises(DataError, "units-first-unit", "total", 3, 300, 600):
        Margins.from_frame(returns, cols=["ruiz", "hale"], **SIDES)


@pytest.mark.parametrize("votes", [2, 3])
def test_more_votes_than_ballots_are_refused_and_each_candidate_is_read_alone(returns, votes):
    frame = returns.assign(ruiz=votes * returns["ruiz"] // 2, vega=returns["cast"] // 2, holt=returns["cast"])
    several = ("ruiz, hale, vega, holt", "cast", 3)
    with raises(DataError, "votes-exceed-units", *several):
        Margins.from_frame(frame, cols=["ruiz", "hale", "vega", "holt"], mismatch="no_vote", **SIDES)
    m = Margins.from_frame(frame, cols={"vega": "vega", "not vega": None}, mismatch="no_vote", **SIDES)
    assert m.cols.tolist() == [[150, 150, 300], [115, 115, 370], [100, 100, 400]]


def test_one_unit_with_more_votes_than_ballots_is_named(returns):
    frame = returns.assign(ruiz=[90, 120, 165])
    with raises(DataError, "votes-exceed-units-votes", "cast", 1, 3, "c", 205, 200):
        Margins.from_frame(frame, cols=["ruiz", "hale"], mismatch="no_vote", **SIDES)


def test_more_votes_than_people_ask_for_votes_per_voter(returns):
    frame = returns.assign(ruiz=400, hale=300)
    with raises(DataError, "units-first-unit-did", "total", 3):
        Margins.from_frame(frame, ["anglo", "latino"], ["ruiz", "hale"], "p", mismatch="no_vote")


@pytest.fixture
def council():
    """Four candidates for two seats: every voter has two votes."""
    return pd.DataFrame(
        {
            "Black VAP": [60, 20, 35],
            "White VAP": [40, 80, 65],
            "VAP": [100, 100, 100],
            "Ballots Cast": [30, 40, 36],
            "Ames": [25, 12, 16],
            "Boyd": [20, 10, 20],
            "Cole": [9, 30, 18],
            "Dunn": [6, 28, 18],
        }
    )


@pytest.mark.parametrize("mismatch", ["no_vote", "rescale"])
def test_several_votes_per_ballot_are_refused_though_nobody_named_the_ballots(council, mismatch):
    with raises(DataError, "votes-exceed-units-votes-each", "Ballots Cast", 2):
        Margins.from_frame(council, ["Black VAP", "White VAP"], list(council)[4:], mismatch=mismatch)
    alone = {"Ames": "Ames", "not Ames": None}
    m = Margins.from_frame(
        council, ["Black VAP", "White VAP"], alone, ballots="Ballots Cast", mismatch="no_vote", unit=None
    )
    assert dict(zip(m.col_names, m.cols.sum(axis=0))) == {"Ames": 53, "not Ames": 53, "no vote": 194}


def test_shares_of_adults_are_no_shares_of_votes():
    frame = pd.DataFrame({"pct_black_vap": [0.6, 0.2], "pct_white_vap": [0.4, 0.8], "a": [10, 20], "b": [20, 10]})
    frame = frame.assign(total_votes=[30, 30], vap=[100, 90])
    sides = ["pct_black_vap", "pct_white_vap"], ["a", "b"]
    with raises(DataError, "population-names-counts", "total_votes"):
        Margins.from_frame(frame, *sides, total="total_votes")
    assert Margins.from_frame(frame, *sides, total="vap", mismatch="no_vote").cols[:, 2].tolist() == [70, 60]
    assert Margins.from_frame(frame, *sides, total="total_votes", rows_in="share").rows[0].tolist() == [18, 12]


def test_votes_without_people_are_refused_whatever_mismatch_says():
    frame = pd.DataFrame({"unit": ["1", "2", "Absentee"], "x": [60, 30, 0], "y": [40, 70, 0]})
    frame = frame.assign(a=[20, 30, 25], b=[30, 10, 20])
    for mismatch in ("no_vote", "rescale"):
        with raises(DataError, "units-first-unit-absentee", "Absentee"):
            Margins.from_frame(frame, ["x", "y"], ["a", "b"], unit="unit", mismatch=mismatch)


def test_hispanics_beside_races_need_a_total():
    frame = pd.DataFrame({"White": [60, 50], "Black": [40, 50], "Hispanic": [10, 20], "a": [30, 30], "b": [20, 10]})
    with pytest.warns(ModelWarning, match="exclude each other"):
        Margins.from_frame(frame, ["White", "Black", "Hispanic"], ["a", "b"], mismatch="no_vote")
    exclusive = frame.rename(columns={"White": "NH White", "Black": "NH Black"})
    Margins.from_frame(exclusive, ["NH White", "NH Black", "Hispanic"], ["a", "b"], mismatch="no_vote")
