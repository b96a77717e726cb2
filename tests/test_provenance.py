"""Provenance: what is stated, what is combined, and that it travels."""

import pandas as pd
import pytest

from messages import raises
from sumwise import Domain, Table, Tables, load, save
from sumwise.aggregate import aggregate
from sumwise.encoding import Encoding
from sumwise.errors import DataError
from sumwise.privacy import PersonBounds, plan_release
from sumwise.provenance import Provenance

ROWS = {"a": [0, 1, 1, 2], "b": ["x", "y", "y", "x"], "y": [0, 1, 1, 0], "w": [1, 2, 3, 4]}


def test_nothing_is_stated_of_tables_made_by_hand():
    assert Tables([Table("a", [1, 2])], Domain({"a": 2})).provenance == Provenance()


@pytest.mark.parametrize("count", [Tables.from_frame, aggregate])
def test_counting_states_weights_and_learned_levels(count):
    assert count(ROWS, ["a", "b"], "y").provenance == Provenance(weighted=False, learned=("a", "b"))
    weighted = count(ROWS, ["a"], label="b", order=1, weight="w", domain=Domain({"a": 3}))
    assert weighted.provenance == Provenance(weighted=True, learned=("b",))


def test_rules_made_by_hand_are_not_learned():
    from sumwise.encoding.rules import Cuts

    by_hand = Encoding({"a": Cuts("a", (1,))})
    assert aggregate(ROWS, ["a"], order=1, encoding=by_hand).provenance.learned == ()
    learned = Encoding.fit(ROWS, {"a": {"kind": "quantiles", "bins": 2}, "b": "levels"})
    assert learned.learned == ("a", "b")
    assert aggregate(ROWS, ["a"], order=1, encoding=learned).provenance.learned == ("a",)
    assert Encoding.from_dict(learned.to_dict()).learned == ("a", "b")
    assert Encoding.fit(ROWS, {"a": [1.0, 2.0]}).learned == ("a",)  # whether there is a level for missing values
    assert Encoding.fit(ROWS, {"a": {"kind": "cuts", "at": [1.0], "missing": False}}).learned == ()


def test_a_cross_of_learned_levels_is_learned():
    spec = {"a": {"kind": "quantiles", "bins": 2}, "b": "levels", "ab": {"kind": "cross", "of": ["a", "b"], "cells": 4}}
    encoding = Encoding.fit(ROWS, spec)
    assert aggregate(ROWS, ["ab"], order=1, encoding=encoding).provenance.learned == ("ab",)


def test_provenance_travels_through_operations_and_files(tmp_path):
    tables = aggregate(ROWS, ["a", "b"], "y", weight="w", order=1)
    save(tables, tmp_path / "tables.sumwise")
    for other in (
        tables.with_tables(tables.tables[:1] + tables.tables[1:]),
        load(tmp_path / "tables.sumwise"),
    ):
        assert other.provenance.weighted is True
        assert "a" in other.provenance.learned


def test_rows_of_a_person_in_each_part_are_not_taken_for_one():
    """A person of monday and of tuesday changes the sum by two rows: a release has to be given bounds."""
    day = Tables.from_frame({"a": [0, 1, 1]}, ["a"], order=1, domain=Domain({"a": 2}))
    both = Tables.combine([day, day])
    with raises(DataError, "tables-dont-say"):
        plan_release(both)
    assert plan_release(both, bounds=2).sensitivities == (2.0,)
    assert plan_release(Tables.combine([day])).sensitivities == (1.0,)


def test_combined_provenance_is_the_weaker_one():
    known = Provenance(weighted=False, rows_per_person=2, learned=("a",))
    assert Provenance.combined([known, known]).rows_per_person == 4
    assert Provenance.combined([known, Provenance()]) == Provenance(learned=("a",))
    heavy = Provenance(weighted=True, max_weight=3.0, rows_per_person=1, learned=("b",))
    both = Provenance.combined([known, heavy])
    assert both == Provenance(True, 3.0, 3, ("a", "b"))
    assert Provenance.combined([heavy, Provenance(weighted=True)]).max_weight is None
    assert known.of(["b"]).learned == ()


def test_weighted_rows_of_a_person_in_each_part_are_not_taken_for_one():
    day = {"a": [0, 1, 1], "w": [1.0, 2.5, 3.0]}
    options = {"order": 1, "domain": Domain({"a": 2}), "weight": "w", "max_weight": 3.0}
    both = Tables.combine([aggregate(pd.DataFrame(day), ["a"], **options)] * 2)
    with raises(DataError, "tables-dont-say"):
        plan_release(both, mechanism="laplace")
    with raises(DataError, "tables-counted-weights"):
        plan_release(both, mechanism="laplace", bounds=PersonBounds(rows=2))
    assert plan_release(both, mechanism="laplace", bounds=2).sensitivities == (6.0,)


def test_rows_without_weights_weigh_one_beside_light_ones():
    light = Provenance(weighted=True, max_weight=0.5, rows_per_person=1)
    assert Provenance.combined([light, Provenance(weighted=False, rows_per_person=1)]).max_weight == 1.0
    assert Provenance.combined([light, light]).max_weight == 0.5


def test_levels_that_one_part_learned_are_learned():
    """A village of one in the rows of one part is no less a secret because another part says nothing."""
    read = Tables.from_frame({"a": ["Bern", "Alp"]}, ["a"], order=1)
    silent = Tables([Table("a", [3.0, 2.0])], read.domain)
    with raises(DataError, "levels-classes-cut"):
        plan_release(Tables.combine([read, silent]), bounds=2)


def test_a_promise_for_one_part_is_none_for_the_sum():
    released = Provenance(releases=[{"epsilon": 1.0, "mechanism": "geometric"}])
    levels = Provenance(releases=[{"epsilon": 0.1, "of": "levels and cut points"}])
    assert Provenance.combined([released, released]).promised
    assert not Provenance.combined([released, Provenance()]).releases
    assert Provenance.combined([released, levels]).releases == levels.releases


@pytest.mark.parametrize(
    "given", [{"weighted": 2}, {"rows_per_person": 0}, {"max_weight": -1}, {"learned": "a"}, {"releases": 3}]
)
def test_provenance_refuses(given):
    with pytest.raises((DataError, TypeError)):
        Provenance(**given)


@pytest.mark.parametrize("forged", [{"learned": [["a"]]}, {"sources": [1]}, {"sources": [None]}])
def test_names_and_digests_of_a_forged_file_are_refused(forged):
    with raises(DataError, "learned-names-attributes|sources-list-digests"):
        Provenance(**forged)
