"""What all studies share: keys are checked, options reach the method, the seed is set."""

from __future__ import annotations

import pytest

from messages import raises
from sumwise.cli.study import FAMILIES, Problem, study_of
from sumwise.cli.study.families import study_class
from sumwise.errors import DataError


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("[data]\nfil = 'x'", "problem, line 3: There is no key in [data] 'fil'. Hint: did you mean 'file'"),
        (
            "[columns]\ngroup = 'x'",
            "problem, line 3: There is no key in [columns] 'group'. Hint: did you mean 'groups'",
        ),
        ("method = 'Kng'", "problem, line 2: There is no method 'Kng'. Hint: did you mean 'King'?"),
    ],
)
def test_unknown_keys_are_told_with_the_nearest(line, told):
    with pytest.raises(DataError) as caught:
        study_of(Problem.parse(f"family = 'ecological'\n{line}"))
    assert str(caught.value).startswith(told)


def test_options_and_seed_reach_the_method():
    study = study_of(Problem.parse("family = 'ecological'\nseed = 7\n[options]\nn_draws = 50"))
    assert study.configured("King").get_params()["random_state"] == 7
    assert study.configured("King").get_params()["n_draws"] == 50
    with raises(DataError, "there-is-no", "key", "n_draws"):
        study.configured("Goodman")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_says_what_its_keys_mean(family):
    study = study_class(family)
    assert study.family == family
    assert study.methods
    assert all(study.column_keys.values())
    assert all(study.data_keys.values())
    made = study_of(Problem.parse(f"family = '{family}'"))
    for method in study.methods:
        assert hasattr(made.make(method), "get_params")
