import copy

import numpy as np
import pytest

from messages import raises
from sumwise import Domain, Table, Tables
from sumwise.errors import DataError, UnknownName
from sumwise.noise import Gaussian

DOMAIN = Domain({"a": 2, "b": 3, "c": 2})
AB = Table(("a", "b"), [[1, 2, 3], [4, 5, 6]])
BC = Table(("b", "c"), [[5, 0], [0, 7], [9, 0]])


@pytest.fixture
def tables():
    return Tables([AB, BC], DOMAIN)


def test_lookup_by_name_position_and_order(tables):
    assert len(tables) == 2
    assert tables["a", "b"] == AB
    assert tables["b", "a"].counts.tolist() == AB.counts.T.tolist()
    assert tables[1] == BC
    assert list(tables) == [AB, BC]
    assert ("c", "b") in tables
    assert "a" not in tables
    assert tables.n == 21


def test_absent_tables_and_attributes_are_named(tables):
    with raises(UnknownName, "no-table-over", "a", "c"):
        tables["a", "c"]
    with raises(UnknownName, "there-is-no", "attribute", "z"):
        tables["a", "z"]
    with pytest.raises(DataError):
        tables[1.5]


def test_several_observations_of_one_table():
    noisy = [Table("a", [10.0, 9.0], noise=Gaussian(s)) for s in (1.0, 2.0)]
    tables = Tables([AB, *noisy], DOMAIN)
    assert len(tables.on("a")) == 2
    with raises(DataError, "tables-over-use", 2, "a"):
        tables["a"]


def test_totals_are_compared_between_exact_tables_only():
    Tables([AB, Table("a", [50.0, 50.0], noise=Gaussian(1.0))], DOMAIN)
    Tables([AB, Table("a", [50.0, np.nan])], DOMAIN)
    with raises(DataError, "exact-tables-disagree", "a", 100, "b", 21):
        Tables([AB, Table("a", [50.0, 50.0])], DOMAIN)
    with raises(DataError, "exact-tables-disagree", 20):
        Tables([AB], DOMAIN, n=20)


def test_population_is_given_or_inferred():
    noisy = Table("a", [5.0, 6.0], noise=Gaussian(1.0))
    assert Tables([noisy], DOMAIN).n is None
    assert Tables([noisy], DOMAIN, n=10).n == 10
    for n in (-1, np.nan, "ten", True):
        with raises(DataError, "must-least", "n"):
            Tables([noisy], DOMAIN, n=n)


@pytest.mark.parametrize(
    ("given", "domain", "words"),
    [
        ([], DOMAIN, ("no-tables-least",)),
        (AB, DOMAIN, ("tables-built-single",)),
        ([AB, 3], DOMAIN, ("entry-tables-type", 1, "int")),
        ([AB], {"a": 2}, ("domain-type-domain-domain",)),
        ([Table("z", [1])], DOMAIN, ("there-is-no", "attribute", "z")),
        ([Table("a", [1, 2, 3])], DOMAIN, ("table-over-shape-domain", "(3,)", "(2,)")),
        ([Table("a", [1, 2], [0, 1]), Table("b", [1, 1, 1], np.eye(3))], DOMAIN, ("tables-label-sums",)),
    ],
)
def test_bad_input_is_refused(given, domain, words):
    with raises(DataError, *words):
        Tables(given, domain)


def test_classes_are_named_once():
    labelled = Table("a", [1, 2], [0, 1])
    assert Tables([labelled], DOMAIN).classes == (0, 1)
    assert Tables([labelled], DOMAIN, classes=["no", "yes"]).classes == ("no", "yes")
    for classes in (["no"], ["no", "no"]):
        with pytest.raises(DataError):
            Tables([labelled], DOMAIN, classes=classes)
    with raises(DataError, "classes-named-no"):
        Tables([AB], DOMAIN, classes=["no", "yes"])


def test_with_tables_keeps_the_rest():
    tables = Tables([Table("a", [1, 2], [0, 1])], DOMAIN, label="click", classes=["n", "y"])
    other = tables.with_tables([Table("b", [1, 1, 1], [0, 0, 1])])
    assert (other.label, other.classes, other.n) == ("click", ("n", "y"), 3)


def test_equality_copy_repr(tables):
    assert copy.deepcopy(tables) == tables
    assert tables != Tables([AB], DOMAIN)
    assert tables != 3
    assert repr(tables) == "Tables(tables=2, attributes=[a, b, c], n=21)"
    assert "Exact" in tables._repr_html_()
    assert tables.describe()["cells"] == 12


def test_exact_tables_agree_on_the_label():
    with raises(DataError, "exact-tables-disagree-total", "b", 1, "a", 3):
        Tables([Table("a", [1, 2], [1, 2]), Table("b", [1, 1, 1], [0, 1, 0])], DOMAIN)
    noisy = Table("b", [1, 1, 1], [0, 1, 0], Gaussian(1.0))
    assert len(Tables([Table("a", [1, 2], [1, 2]), noisy], DOMAIN)) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"label": "c"}, ("label-attribute-name",)),
        ({"label": 1.5}, ("type-name-column", "label", "float")),
        ({"encoding": "x"}, ("encoding-type-encoding", "str")),
    ],
)
def test_label_and_encoding_are_checked(options, words):
    with raises(DataError, *words):
        Tables([AB], DOMAIN, **options)


def test_other_tables_are_a_list(tables):
    with raises(DataError, "list-table-objects", "tables", "None"):
        tables.with_tables(None)


@pytest.mark.parametrize("classes", [[(1,), 2], [[1], 2], [{"a": 1}, 2]])
def test_a_class_is_a_number_or_a_text(classes):
    table = Table(["a"], np.array([3.0, 4.0]), np.array([1.0, 2.0]))
    with raises(DataError, "classes-name-class"):
        Tables([table], Domain({"a": 2}), classes=classes)
