"""Outcomes are matched across contests by party, by name, or by the group that they attract."""

import numpy as np

from sumwise import Contests, Margins
from sumwise.ecological.alignment import match_outcomes

TABLES = {
    1: np.array([[50.0, 5, 5], [4, 60, 6], [10, 10, 10]]),
    2: np.array([[5.0, 50, 5], [60, 4, 6], [10, 10, 10]]),
}


def margins(table, names):
    return Margins(
        table.sum(axis=1)[None], table.sum(axis=0)[None], row_names=["Red", "Blue", "Green"], col_names=names
    )


def made(**options):
    names = {1: ["Smith", "Jones", "others"], 2: ["Brown", "Green", "others"]}
    return Contests({k: margins(t, names[k]) for k, t in TABLES.items()}, **options)


def test_shared_names_match_and_the_rest_is_learned():
    matched = match_outcomes(made(), [1, 2], TABLES)
    assert matched[1].labels == (("group", "Red"), ("group", "Blue"), ("name", "others"))
    assert matched[2].labels == (("group", "Blue"), ("group", "Red"), ("name", "others"))
    assert matched[2].groups == (1, 0, None)


def test_given_parties_come_first_and_name_their_group():
    contests = made(parties={1: ["Blue", "Red", None]})
    matched = match_outcomes(contests, [1, 2], TABLES)
    assert matched[1].labels[:2] == (("party", "Blue"), ("party", "Red"))
    assert matched[1].groups[:2] == (1, 0)


def test_by_name_alone_leaves_nothing_to_learning():
    matched = match_outcomes(made(align="name"), [1, 2], TABLES)
    assert matched[1].labels == (("name", "Smith"), ("name", "Jones"), ("name", "others"))
    assert (
        match_outcomes(made(align="party", parties={1: ["Red", None, None]}), [1, 2], TABLES)[2].labels == (None,) * 3
    )
