"""Random files read by a person who knows the truth, who is never wrong, and by one who takes the first option."""

from __future__ import annotations

import pytest

from schema.persons import ask, first_option, truth
from schema.random_files import NO_VOTE, SHAPES, UNDERVOTE, random_file

N_SHAPES, N_FAST, N_FILES = len(SHAPES), 2 * len(SHAPES), 30 * len(SHAPES)
MOST_QUESTIONS = 2.5  # per file of the truthful person, on average


@pytest.mark.parametrize(
    "seed", [*range(N_FAST), *(pytest.param(s, marks=pytest.mark.check) for s in range(N_FAST, N_FILES))]
)
def test_the_truthful_person_is_never_wrong_and_the_lazy_one_never_silently(seed, tmp_path):
    file = random_file(seed, tmp_path)
    end = ask(file, truth)
    assert end.how == ("refused" if file.groups is None else "right"), (file.shape, end)
    lazy = ask(file, first_option)
    assert lazy.how != "wrong" or lazy.questions > 0, (file.shape, lazy)


def test_few_questions_are_asked(tmp_path):
    n = [ask(random_file(seed, tmp_path), truth).questions for seed in range(N_SHAPES)]
    assert sum(n) <= MOST_QUESTIONS * N_SHAPES


def test_persons_can_fail(tmp_path):
    file = random_file(0, tmp_path)
    file.outcomes = {name: x + 1 for name, x in file.outcomes.items()}
    assert ask(file, truth).how == "wrong"


def test_names_of_what_was_not_chosen_are_those_of_the_containers():
    from sumwise.io.formats.margin_sides import NO_VOTE as no_vote
    from sumwise.io.formats.margin_sides import UNDERVOTE as undervote

    assert (no_vote, undervote) == (NO_VOTE, UNDERVOTE)
