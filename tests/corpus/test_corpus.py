"""Every file of the corpus is right at once, right after questions, or refused; none is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from corpus.made import Asked, Refused, cases, matches
from sumwise.cli.study import study_of
from sumwise.cli.study.initialise import suggest_problem
from sumwise.errors import SumwiseError
from sumwise.schema.problem import Problem
from sumwise.schema.questions import NAME, STOP
from sumwise.schema.reading.contests import contest_problems

CASES = {case.name: case for case in cases()}
MOST_ANSWERS = 7  # one after the other


def margins(found):
    """The margins of every contest of a problem file, as a fit would read them."""
    problem, read = Problem.parse(found.text, found.path), []
    for one in (contest_problems(problem) or {"": problem}).values():
        study = study_of(one)
        study.read()
        read.append(study.margins)
    return read


def is_right(read, expected):
    """Whether margins are those that must come out."""
    if len(read) != len(expected.sides):
        return False
    pairs = [(m, side) for m, sides in zip(read, expected.sides) for side in zip((m.rows, m.cols), sides)]
    return all(truth is None or near(values, truth, expected.off) for _, (values, truth) in pairs)


def near(values, truth, off):
    if values.shape != truth.shape:
        return False
    total = np.maximum(truth.sum(axis=1), 1)
    return bool(np.abs(values - truth).max() <= off * total.max() + 1e-6)


def truthful(paths, out, expected, answers=None):
    """The answers of a person who knows the truth; None if none lead there."""
    answers = answers or {}
    found = suggest_problem(paths, out, answers, overwrite=True)
    if not found.schema.questions:
        return answers if is_right(margins(found), expected) else None
    question = found.schema.questions[0]
    for option in question.options if len(answers) < MOST_ANSWERS and not question.several else ():
        if option in (STOP, NAME):
            continue
        try:
            right = truthful(paths, out, expected, {**answers, question.key: option})
        except SumwiseError:
            continue
        if right is not None:
            return right
    return None


def test_corpus_is_large_and_has_all_outcomes():
    kinds = [type(case.expected) for case in CASES.values()]
    assert len(kinds) >= 150
    assert min(kinds.count(Refused), kinds.count(Asked)) >= 15


@pytest.mark.parametrize("name", CASES)
def test_file_ends_in_the_right_container_or_question_or_refusal(name, tmp_path):
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
    keys = [question.key for question in found.schema.questions]
    if isinstance(case.expected, Asked):
        assert case.expected.key in keys
        return
    assert keys == [] or case.expected.asks in keys
    assert truthful(paths, tmp_path / "p.toml", case.expected) is not None
