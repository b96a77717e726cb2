"""Every file of the corpus ends in the right container or in the right refusal; nothing is right by luck."""

from __future__ import annotations

import numpy as np
import pytest

from corpus.made import Refused, cases, matches
from sumwise.errors import SumwiseError
from sumwise.recognise.initialise import suggest_problem
from sumwise.study import study_of
from sumwise.study.contests import contest_problems
from sumwise.study.problem import Problem

CASES = {case.name: case for case in cases()}


def fitted(problem):
    """The studies of every contest of a problem, read and fitted by the quick method."""
    made = []
    for one in (contest_problems(problem) or {"": problem}).values():
        study = study_of(Problem({**one.values, "method": "Bounds", "sensitivity": False}, one.text, one.path))
        study.read()
        study.fit()
        made.append(study)
    return made


def test_corpus_is_large_and_has_both_outcomes():
    refused = sum(isinstance(case.expected, Refused) for case in CASES.values())
    assert len(CASES) >= 150
    assert refused >= 40


@pytest.mark.parametrize("name", CASES)
def test_file_ends_in_the_right_container_or_refusal(name, tmp_path):
    case = CASES[name]
    paths = case.write(tmp_path)
    if any(path.suffix in (".xlsx", ".dta", ".sav") for path in paths):
        pytest.importorskip("openpyxl" if paths[0].suffix == ".xlsx" else "pyreadstat")
    if isinstance(case.expected, Refused):
        with pytest.raises(SumwiseError) as caught:
            suggest_problem(paths, tmp_path / "p.toml")
        assert matches(str(caught.value), case.expected.pattern), caught.value
        return
    found = suggest_problem(paths, tmp_path / "p.toml")
    studies = fitted(Problem.from_file(found.write()))
    assert len(studies) == len(case.expected.sides)
    for study, (rows, cols) in zip(studies, case.expected.sides):
        near(study.margins.rows, rows, case.expected.off)
        if cols is not None:
            near(study.margins.cols, cols, case.expected.off)
        assert (study.model.lower_bound_ <= study.model.upper_bound_ + 1e-9).all()
    assert not case.expected.asks or any(matches(line, case.expected.asks) for line in found.guess.ask)
    if not case.expected.asks:
        assert not any("left out" in line for line in found.guess.ask)


def near(found, expected, off):
    assert found.shape == expected.shape
    total = np.maximum(expected.sum(axis=1, keepdims=True), 1)
    assert np.abs(found - expected).max() <= off * total.max() + 1e-6, np.abs(found - expected).max()
