"""Example files come with the package, are small, and are read without a question."""

from __future__ import annotations

import pytest

from golden.from_files import outcome_of_reading
from messages import raises
from sumwise import datasets
from sumwise.datasets.example_files import FILES, FOLDER
from sumwise.errors import UnknownName


def test_every_file_belongs_to_a_family_and_is_small():
    assert {path.name for path in FOLDER.iterdir()} == {name for names in FILES.values() for name in names}
    assert all(path.stat().st_size < 200_000 for path in FOLDER.iterdir())


@pytest.mark.parametrize("family", FILES)
def test_an_example_is_read_as_its_family(family, tmp_path):
    read = outcome_of_reading(list(datasets.example(family)), tmp_path)
    assert read["contests"][""]["family"] in (family, "collective" if family == "flows" else family)


def test_an_unknown_family_is_named():
    with raises(UnknownName, "no-example", "birds"):
        datasets.example("birds")
