"""Two persons who answer questions about a file: one who knows the truth, and one who takes the first option."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from schema.random_files import RandomFile
from sumwise import Contests
from sumwise.errors import ModelWarning, SumwiseError
from sumwise.schema import Question, Schema
from sumwise.schema.questions import NAME, STOP

MOST_ANSWERS = 14


@dataclass
class End:
    """How a file ends: right, wrong, refused (or stopped), with how many questions."""

    how: str
    questions: int
    answers: dict[str, Any] = field(default_factory=dict)
    last: Any = None


def first_option(question: Question, file: RandomFile) -> Any:
    """The lazy person."""
    del file
    return STOP if question.several else question.options[0]


def truth(question: Question, file: RandomFile) -> Any:
    """The truthful person: an option that is true, the columns, or stop."""
    groups, outcomes = (set(side) for side in file.named)
    if question.key in ("columns.groups", "columns.outcomes"):
        return file.named[question.key == "columns.outcomes"]
    if question.key in ("groups", "sides", "confirm"):
        true = [o for o in question.options if o not in (STOP, NAME) and _is_true(question, o, groups, outcomes)]
        return true[0] if true else NAME
    if question.key == "contests" and "contests" not in file.answers:
        only = [o for o in question.options if set(o.removeprefix("only ").split(", ")) == outcomes]
        return only[0] if only else NAME
    if question.key == "unknown":
        return NAME if file.groups else STOP
    if question.key == "form":
        return "a unit with counts of people (margins)"
    if question.key in ("overlap", "rest_group", "ballots") and question.key not in file.answers:
        if file.shape == "hispanics_in_races_too":
            return STOP
        return next(o for o in question.options if o.startswith(("no", "nobody", "they did not")))
    start = file.answers.get(question.key.partition(".")[0])
    matching = [o for o in question.options if start and o.startswith((start, start.removeprefix("of ")))]
    return matching[0] if matching else STOP


def _is_true(question: Question, option: str, groups: set[str], outcomes: set[str]) -> bool:
    text = question.text.partition("it: ")[2] if question.key == "confirm" else option
    one, _, two = text.partition(" are the groups")
    two = two.removeprefix(", ").partition(" what they chose")[0]
    runs = [set(run.split(", ")) for run in two.split(" | ")] if two else []
    return set(one.split(", ")) == groups and (not runs or outcomes in runs or set.union(*runs) == outcomes)


def ask(file: RandomFile, person: Any) -> End:
    """Read a file with a person's answers."""
    answers: dict[str, Any] = {}
    source = file.paths if len(file.paths) > 1 else file.paths[0]
    for n in range(MOST_ANSWERS):
        try:
            schema = Schema.infer(source, answers)
            if not schema.questions:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ModelWarning)  # that groups may overlap; the file's don't
                    read = schema.read(source)
                return End("right" if is_right(read, file) else "wrong", n, answers, read)
        except SumwiseError as error:
            return End("refused", n, answers, error)
        question = schema.questions[0]
        answer = person(question, file)
        if answer == STOP:
            return End("refused", n + 1, answers, question)
        assert answers.get(question.key) in (None, NAME), (question, answers)  # a question that comes back
        answers[question.key] = answer
    raise AssertionError(f"{MOST_ANSWERS} questions: {answers}")


def is_right(read: Any, file: RandomFile) -> bool:
    """Whether what was read is the truth, by names; a rest of none is no outcome."""
    if file.groups is None:
        return False
    found = [*read.contests.values()] if isinstance(read, Contests) else [read]
    true = file.outcomes if isinstance(file.outcomes, list) else [file.outcomes]
    if len(found) != len(true) or not all(hasattr(m, "rows") for m in found):
        return False
    return all(_is_contest(m, file, outcomes) for m, outcomes in zip(found, true))


def _is_contest(margins: Any, file: RandomFile, outcomes: Any) -> bool:
    place = {name: i for i, name in enumerate(file.units)}
    if len(margins) != len(file.units):
        return False
    order = [place.get(str(u), i) for i, u in enumerate(margins.units)]
    people = margins.rows.sum(axis=1)
    sides = (file.groups, margins.row_names, margins.rows), (outcomes, margins.col_names, margins.cols)
    for known, names, values in sides:
        mine = {str(name): values[:, k] for k, name in enumerate(names)}
        if any(mine[k].any() for k in mine.keys() - known.keys()):
            return False
        if any(np.any(known[k]) for k in known.keys() - mine.keys()):
            return False
        near = file.off * people + 1e-6
        if any((np.abs(mine[k] - np.asarray(known[k])[order]) > near).any() for k in mine.keys() & known.keys()):
            return False
    return True
