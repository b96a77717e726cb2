"""Random files read by a person who knows the truth, who is never misled, and by one who takes the first answer."""

from __future__ import annotations

import numpy as np
import pytest

from schema.random_files import NO_VOTE, UNDERVOTE, random_file
from sumwise.errors import SumwiseError
from sumwise.schema import NAME, STOP, Schema

MOST_ANSWERS = 7
ADDED = (NO_VOTE, UNDERVOTE)


def is_right(margins, file):
    """Whether margins are the truth, by names; a rest of none is no outcome."""
    if file.groups is None or not hasattr(margins, "rows"):
        return False
    for truth, names, values in (
        (file.groups, margins.row_names, margins.rows),
        (file.outcomes, margins.col_names, margins.cols),
    ):
        mine = {str(name): values[:, k] for k, name in enumerate(names)}
        extra = [name for name in mine if name not in truth and mine[name].any()]
        lacking = [name for name, x in truth.items() if name not in mine and np.any(x)]
        if extra or lacking:
            return False
        people = margins.rows.sum(axis=1)
        if any((np.abs(mine[name] - x) > file.off * people + 1e-6).any() for name, x in truth.items() if name in mine):
            return False
    return True


def read(path, answers):
    """What is read with these answers, and the questions that are open."""
    schema = Schema.infer(path, answers)
    return (None if schema.questions else schema.read(path)), schema.questions


def outcomes_of(file, answers=None):
    """Whether any answers lead to the truth, and how the first ones end."""
    answers = answers or {}
    try:
        margins, questions = read(file.path, answers)
    except SumwiseError:
        return "refused"
    if not questions:
        return "right" if is_right(margins, file) else "wrong"
    ends = set()
    for option in questions[0].options if len(answers) < MOST_ANSWERS and not questions[0].several else ():
        if option not in (STOP, NAME):
            ends.add(outcomes_of(file, {**answers, questions[0].key: option}))
        if "right" in ends:
            return "right"
    return "asked"


def truthful(file):
    """How a person who knows the truth ends: by the answers, or by naming the columns."""
    named = {"columns.groups": [*file.groups], "columns.outcomes": [n for n in file.outcomes if n not in ADDED]}
    ends = [outcomes_of(file, answers) for answers in ({}, named)]
    return "right" if "right" in ends else " ".join(ends)


@pytest.mark.parametrize("seed", [*range(14), *(pytest.param(s, marks=pytest.mark.check) for s in range(14, 400))])
def test_no_random_file_is_wrong_without_a_question(seed, tmp_path):
    file = random_file(seed, tmp_path)
    try:
        margins, questions = read(file.path, {})
    except SumwiseError:
        margins, questions = None, ()
    if margins is not None and not questions:
        assert is_right(margins, file), (file.path.read_text()[:300], margins)
    if file.groups is not None:
        assert truthful(file) == "right"


def test_names_of_what_was_not_chosen_are_those_of_the_containers():
    from sumwise.frames.margins import NO_VOTE as no_vote
    from sumwise.frames.margins import UNDERVOTE as undervote

    assert (no_vote, undervote) == (NO_VOTE, UNDERVOTE)
