"""Stated errors of groups: read, scaled as the groups are, and kept with their units."""

from __future__ import annotations

import numpy as np
import pytest

from messages import raises
from sumwise.cli.study import Problem, study_of
from sumwise.errors import DataError

HEAD = 'family = "ecological"\nmethod = "Goodman"\nsensitivity = false\n[data]\n'


def study(folder, text):
    (folder / "p.toml").write_text(text)
    made = study_of(Problem.from_file(folder / "p.toml"))
    made.read()
    return made


def uncertain(folder, columns, rest=""):
    """Groups with stated errors as columns of a file."""
    head = "p,total,black,white,black_se,white_se,y,n\n"
    lines = ["A,100,60,40,6,4,70,30", "B,200,50,150,10,15,80,120", "C,300,30,270,0,3,90,210", "D,80,40,40,2,2,40,40"]
    (folder / "v.csv").write_text(head + "\n".join(lines))
    text = f'file = "v.csv"\n{rest}[columns]\nunit = "p"\ngroups = ["black", "white"]\noutcomes = ["y", "n"]\n'
    return study(folder, HEAD.replace("Goodman", "EcologicalEM") + text + columns)


def test_standard_errors_of_groups_are_read(tmp_path):
    made = uncertain(tmp_path, 'groups_sd = ["black_se", "white_se"]')
    assert made.margins.row_sd.tolist() == [[6, 4], [10, 15], [0, 3], [2, 2]]
    half = uncertain(tmp_path, 'groups_moe = ["black_se", "white_se"]')
    np.testing.assert_allclose(half.margins.row_sd * 1.645, made.margins.row_sd)


def test_standard_errors_are_scaled_as_the_groups_are(tmp_path):
    (tmp_path / "v.csv").write_text(
        "p,total,black,black_se,y,n\nA,200,40,5,150,50\nB,100,10,1,30,70\nC,50,50,2,30,20\nD,60,20,2,6,54\n"
    )
    text = 'file = "v.csv"\n[columns]\nunit = "p"\ngroups = ["black"]\noutcomes = ["y", "n"]\ntotal = "total"\n'
    text += 'rest_group = "others"\ngroups_in = "percent"\ngroups_sd = ["black_se"]'
    made = study(tmp_path, HEAD + text)
    np.testing.assert_allclose(made.margins.row_sd[:, 0], [10, 1, 1, 1.2])
    np.testing.assert_allclose(made.margins.row_sd[:, 1], made.margins.row_sd[:, 0])  # the rest is off by as much


@pytest.mark.parametrize(
    ("kind", "counts", "sd"), [("count", (40, 0, 5), (5, 12, 2)), ("percent", (40, 0, 5), (10, 12, 1))]
)
def test_a_group_of_nobody_keeps_its_error(tmp_path, kind, counts, sd):
    lines = [f"{p},{t},{c},{e},{t - 30},30" for p, t, c, e in zip("ABC", (200, 100, 50), counts, (5, 12, 2))]
    (tmp_path / "v.csv").write_text("\n".join(["p,total,black,black_se,y,n", *lines]))
    text = 'file = "v.csv"\n[columns]\nunit = "p"\ngroups = ["black"]\noutcomes = ["y", "n"]\ntotal = "total"\n'
    text += f'rest_group = "others"\ngroups_in = "{kind}"\ngroups_sd = ["black_se"]'
    np.testing.assert_allclose(study(tmp_path, HEAD + text).margins.row_sd[:, 0], sd)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ('groups_sd = ["black_se"]', ("columns-groups", "groups_sd", 1, 2)),
        ('groups_sd = ["black_se", "x"]', ("there-is-no", "x")),
        ('groups_sd = ["black_se", "white_se"]\ngroups_moe = ["black_se", "white_se"]', ("keep-them",)),
    ],
)
def test_errors_of_groups_that_do_not_fit_are_refused(tmp_path, columns, words):
    with raises(DataError, *words):
        uncertain(tmp_path, columns)


def test_errors_stay_with_their_units_where_others_are_dropped(tmp_path):
    (tmp_path / "v.csv").write_text(
        "p,a,b,a_sd,b_sd,y,n\nA,9,1,1,2,5,5\nB,5,5,3,4,5,6\nC,2,8,5,6,5,5\nD,4,6,7,8,5,5\nE,1,9,9,9,5,5\n"
    )
    text = 'file = "v.csv"\nmismatch = "drop"\n[columns]\nunit = "p"\ngroups = ["a", "b"]\noutcomes = ["y", "n"]\n'
    made = study(tmp_path, HEAD + text + 'groups_sd = ["a_sd", "b_sd"]')
    assert made.margins.units.tolist() == ["A", "C", "D", "E"]
    assert made.margins.row_sd.tolist() == [[1, 2], [5, 6], [7, 8], [9, 9]]
