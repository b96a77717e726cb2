import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from messages import raises
from sumwise import Bags, Margins, Tables, frames
from sumwise.aggregate import aggregate
from sumwise.ecological import Goodman, error_index
from sumwise.errors import DataError, UnknownName
from sumwise.flows import Places
from sumwise.frames import by_names, in_one_order
from sumwise.proportions import MeanMap
from sumwise.voting import district_performance, uncertain_margins

DATA = {"a": [1, 2, 3], "b": ["x", "y", "x"]}
KINDS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": lambda d: pl.DataFrame(d).lazy(),
    "pyarrow": pa.table,
    "dict": dict,
}

GROUPS, OUTCOMES = ["white", "black"], ["A", "B"]
UNITS = pd.DataFrame(
    {"white": [60, 30, 10, 45], "black": [40, 70, 90, 55], "A": [55, 40, 25, 48], "B": [45, 60, 75, 52]},
    index=["n", "s", "e", "w"],
).assign(size=[1.0, 2.0, 3.0, 4.0])
TURNED = UNITS.iloc[::-1]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_frame_goes_in(kind):
    out = frames.to_pandas(KINDS[kind](DATA), ["b", "a"])
    assert out.columns.tolist() == ["b", "a"]
    assert out["a"].tolist() == [1, 2, 3]
    assert out["b"].tolist() == ["x", "y", "x"]


def test_whole_frame_keeps_column_order():
    assert frames.to_pandas(pl.DataFrame(DATA)).columns.tolist() == ["a", "b"]


@pytest.mark.parametrize("bad", [None, 3, "file.csv", [[1, 2]], np.ones((2, 2))])
def test_no_frame_is_refused(bad):
    with raises(DataError, "type-pandas-polars"):
        frames.to_pandas(bad)


def test_unknown_and_duplicate_columns_are_refused():
    with raises(UnknownName, "there-is-no", "column", "A"):
        frames.to_pandas(pd.DataFrame(DATA), ["A"])
    with raises(DataError, "holds-duplicates-first"):
        frames.to_pandas(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with raises(DataError, "dict-makes-no", "frame"):
        frames.to_pandas({"a": [1], "b": [1, 2]})


def test_numeric_names_column_and_row():
    with raises(DataError, "holds-first-convert"):
        frames.numeric(pd.DataFrame(DATA), ["a", "b"], "votes")
    with raises(DataError, "drop-fill-such", 1):
        frames.numeric(pd.DataFrame({"a": [1.0, np.nan]}), ["a"], "votes")
    with raises(DataError, "drop-fill-such", 1):
        frames.numeric(pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}), ["a"], "votes")
    with raises(DataError, "frame-no-rows"):
        frames.numeric(pd.DataFrame({"a": []}), ["a"], "votes")


def test_numeric_reads_nullable_and_categorical_numbers():
    df = pd.DataFrame({"a": pd.array([1, 2], dtype="Int64"), "b": pd.Categorical([3, 4])})
    assert frames.numeric(df, ["a", "b"], "votes").tolist() == [[1, 3], [2, 4]]


def test_levels_follow_categories_else_sorted_values():
    column = pd.Series(pd.Categorical(["lo", "hi"], categories=["lo", "mid", "hi"]))
    codes, levels = frames.codes_and_levels(column, "c")
    assert levels == ("lo", "mid", "hi")
    assert codes.tolist() == [0, 2]
    assert frames.codes_and_levels(pd.Series([3, 1]), "c")[1] == (1, 3)
    assert frames.codes_and_levels(pl.Series(["b", "a"]).to_pandas(), "c")[1] == ("a", "b")


def test_missing_and_mixed_and_unknown_levels_are_refused():
    with raises(DataError, "column-missing-rows-first", 1, 2, "row 1"):
        frames.codes_and_levels(pd.Series(["a", None]), "c")
    with raises(DataError, "column-holds-values-cant-levels"):
        frames.codes_and_levels(pd.Series([["a"], ["b"]]), "c")
    with raises(UnknownName, "column-holds-levels-outside", 1, "z"):
        frames.codes_and_levels(pd.Series(["a", "z"]), "c", ("a", "b"))


def test_none_is_a_level_where_the_domain_has_it():
    codes, _ = frames.codes_and_levels(pd.Series(["a", None]), "c", ("a", None))
    assert codes.tolist() == [0, 1]


def test_sides_weights_covariates_and_errors_follow_the_index():
    m = Margins(
        UNITS[GROUPS],
        TURNED[OUTCOMES],
        weights=TURNED["size"],
        covariates=TURNED[["size"]],
        row_sd=TURNED[GROUPS[::-1]] / 10,
    )
    assert m.units.tolist() == ["n", "s", "e", "w"]
    assert (m.cols == UNITS[OUTCOMES].to_numpy()).all()
    assert (m.row_sd == UNITS[GROUPS].to_numpy() / 10).all()
    assert m.weights.tolist() == m.covariates[:, 0].tolist() == [1.0, 2.0, 3.0, 4.0]


def test_a_plain_index_beside_labels_is_taken_as_it_comes():
    m = Margins(UNITS[GROUPS].reset_index(drop=True), UNITS[OUTCOMES])
    assert (m.cols == UNITS[OUTCOMES].to_numpy()).all()
    assert m.units.tolist() == ["n", "s", "e", "w"]


def test_numbers_in_another_order_are_labels_too():
    plain = UNITS.reset_index(drop=True)
    m = Margins(plain[GROUPS], plain[OUTCOMES].iloc[[2, 0, 3, 1]])
    at = m.units.tolist()
    assert (m.rows == plain[GROUPS].to_numpy()[at]).all()
    assert (m.cols == plain[OUTCOMES].to_numpy()[at]).all()


@pytest.mark.parametrize("index", [["n", "s", "e", "x"], ["n", "s", "e", "e"], [0, 1, 2, 9]])
def test_labels_that_differ_are_refused(index):
    rows = UNITS[GROUPS] if isinstance(index[0], str) else UNITS[GROUPS].set_axis([0, 1, 2, 3])
    with raises(DataError, "index-beside-index", "cols", "rows"):
        Margins(rows, UNITS[OUTCOMES].set_axis(index))


def test_predictions_find_groups_by_name():
    est = Goodman().fit(Margins(UNITS[GROUPS], UNITS[OUTCOMES]))
    expected = est.predict(UNITS[GROUPS].to_numpy())
    for other in (UNITS[GROUPS[::-1]], UNITS, Margins(UNITS[GROUPS[::-1]], UNITS[OUTCOMES])):
        np.testing.assert_allclose(est.predict(other), expected)
    np.testing.assert_allclose(est.predict(Margins(UNITS[GROUPS].to_numpy(), UNITS[OUTCOMES])), expected)
    with raises(DataError, "lacks-columns-first", "groups", 1, 2, "black"):
        est.predict(UNITS[["white", "A"]])


def test_unnamed_columns_are_taken_in_order():
    assert by_names(UNITS[GROUPS], ["row0", "row1"], "groups").tolist() == UNITS[GROUPS].to_numpy().tolist()


def test_the_truth_of_a_report_follows_its_labels():
    m = Margins(UNITS[GROUPS], UNITS[OUTCOMES])
    est = Goodman().fit(m)
    truth = pd.DataFrame([[0.9, 0.1], [0.2, 0.8]], index=GROUPS, columns=OUTCOMES)
    found = [est.report(m, truth=t).summary["checked"] for t in (truth, truth.iloc[::-1, ::-1], truth.to_numpy())]
    assert found[0] == found[1] == found[2]
    with raises(DataError, "truth-shape-groups"):
        est.report(m, truth=truth.to_numpy()[:1])


def test_a_plan_by_unit_and_an_error_between_frames_follow_labels():
    m = Margins(UNITS[GROUPS], UNITS[OUTCOMES])
    plan = {"n": 1, "s": 1, "e": 2, "w": 2}
    expected = district_performance(m, plan)
    assert district_performance(m, pd.Series(plan).iloc[::-1]).equals(expected)
    table = pd.DataFrame([[8, 2], [1, 9]], index=GROUPS, columns=OUTCOMES)
    assert error_index(table, table.iloc[::-1, ::-1]) == 0


def test_voters_and_units_follow_labels():
    p = pd.DataFrame({"a": [0.9, 0.5, 0.2], "b": [0.1, 0.5, 0.8]}, index=["x", "y", "z"])
    units = pd.Series(["u", "u", "v"], index=p.index)
    cols = pd.DataFrame({"yes": [1, 1], "no": [1, 0]}, index=["u", "v"])
    weights = pd.Series([1.0, 5.0], index=cols.index)
    straight = uncertain_margins(p, units, cols, weights)
    turned = uncertain_margins(p, units.iloc[::-1], cols, weights.iloc[::-1])
    assert (turned.rows == straight.rows).all()
    assert turned.weights.tolist() == [1.0, 5.0]


def test_places_follow_labels():
    lon, lat = pd.Series([1.0, 2.0, 3.0], index=list("abc")), pd.Series([4.0, 5.0, 6.0], index=list("abc"))
    places = Places(lon=lon, lat=lat.iloc[::-1])
    assert places.names == ("a", "b", "c")
    assert places.lat.tolist() == [4.0, 5.0, 6.0]
    far = pd.DataFrame([[0, 1, 2], [1, 0, 3], [2, 3, 0]], index=list("abc"), columns=list("abc"))
    assert (Places(distances=far[["c", "a", "b"]]).distances == far.to_numpy()).all()
    with raises(DataError, "rows-columns-distances"):
        Places(distances=far.set_axis(["a", "b", "x"]))


def test_a_report_on_bags_aligns_counts_and_refuses_labels_in_another_order():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"bag": rng.permutation(np.repeat(list("abcdefgh"), 4)), "x": rng.normal(size=32)})
    labels = (rng.uniform(size=32) < rows["bag"].map(dict(zip("abcdefgh", np.linspace(0.1, 0.9, 8))))).to_numpy(int)
    bags = Bags.from_frame(rows, bag="bag")
    counts = pd.Series(labels).groupby(rows["bag"]).sum()
    model = MeanMap().fit(bags, counts)
    order = np.argsort(pd.factorize(rows["bag"])[0], kind="stable")
    found = model.report((bags, counts), truth=labels[order])
    assert found.summary["record"] == model.report((bags, bags.align(counts)), truth=labels[order]).summary["record"]
    with raises(DataError, "truth-many-every"):
        model.report((bags, counts), truth=labels)
    with raises(DataError, "truth-holds-classes", 1, 2):
        model.report((bags, counts), truth=labels + 1)


def test_what_has_no_index_stays_as_it_is():
    given = {"rows": np.eye(2), "cols": [[1, 0], [0, 1]], "weights": None}
    assert in_one_order(given) == (given, None)


@pytest.mark.parametrize("blank", ["NA", "", "?"])
def test_a_word_for_missing_values_among_numbers_is_no_class(blank):
    with pytest.raises(DataError, match="among numbers"):
        Tables.from_frame({"a": list("xyxy"), "label": ["0", "1", "1", blank]}, ["a"], label="label", order=1)
    classes = Tables.from_frame({"a": list("xyxy"), "label": ["no", "yes", "yes", "NA"]}, ["a"], label="label", order=1)
    assert classes.classes == ("NA", "no", "yes")


def test_levels_that_differ_by_blanks_alone_are_refused_by_frame_and_rows():
    rows = {"a": ["x", "x ", "y", "y"], "label": [0, 1, 1, 0]}
    for read in (Tables.from_frame, aggregate):
        with pytest.raises(DataError, match=r"Column 'a' has 'x' and 'x ', which differ by blanks alone"):
            read(rows, ["a"], label="label", order=1)
