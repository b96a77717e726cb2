"""What the loaders return."""

import numpy as np
import pandas as pd

from messages import raises
from sumwise import Margins
from sumwise.datasets.records import Contest, Election, Microdata
from sumwise.errors import DataError, UnknownName


def test_shares_of_an_empty_row_are_zero():
    e = Election("toy", Margins([[1.0, 0.0]], [[1.0, 0.0]]), total=np.array([[1.0, 0.0], [0.0, 0.0]]))
    np.testing.assert_array_equal(e.shares, [[1, 0], [0, 0]])


def test_a_contest_names_its_election():
    margins = Margins([[1.0, 0.0]], [[1.0, 0.0]])
    assert Contest("toy", margins, dataset="NZ_2002").election == "New Zealand 2002"
    assert Contest("toy", margins, dataset="XX_1999").election == "XX 1999"


def test_hide_sums_labels_by_bag_and_leaves_out_missing_ones():
    frame = pd.DataFrame({"b": ["y", "x", "y", "x"], "f": [1.0, 2.0, 3.0, 4.0], "l": ["u", "v", "v", None]})
    hidden = Microdata("toy", frame, bag="b").hide("l", ["f"])
    assert hidden.counts.tolist() == [[0, 1], [1, 1]]
    assert hidden.bags.values[:, 0].tolist() == [2, 1, 3]
    assert hidden.rows.tolist() == [1, 0, 2]
    assert hidden.classes == ("u", "v")


def test_hide_refuses_a_column_that_isnt_there():
    with raises(UnknownName, "no-column", "z"):
        Microdata("toy", pd.DataFrame({"b": [1], "l": [1]}), bag="b").hide("l", ["z"])


def test_the_label_stays_hidden():
    people = pd.DataFrame({"area": ["s", "r"], "age": [31, 40], "sex": ["f", "m"]})
    toy = Microdata("toy", people, bag="area")
    for label, features in (("sex", ["age", "sex"]), ("area", ["age"])):
        with raises(DataError, "label-cant-feature"):
            toy.hide(label, features)
    with raises(DataError, "features-list-columns", "age"):
        toy.hide("sex", "age")
