import copy
import pickle
import warnings

import pytest

from sumwise.errors import (
    DataError,
    MissingExtra,
    ModelWarning,
    NotConverged,
    SumwiseError,
    UnknownName,
    group_warnings,
    readable,
)


def test_hint_is_appended_and_kept_apart():
    error = DataError("3 units are empty.", hint="drop them.")
    assert str(error) == "3 units are empty. Hint: drop them."
    assert (error.message, error.hint) == ("3 units are empty.", "drop them.")


def test_unknown_name_reads_as_text_though_it_is_a_key_error():
    assert str(UnknownName("There is no column 'x'.")) == "There is no column 'x'."
    with pytest.raises(KeyError):
        raise UnknownName("gone")


@pytest.mark.parametrize("kind", [DataError, UnknownName, MissingExtra])
def test_errors_survive_copy_and_worker_processes(kind):
    error = kind("what", hint="do")
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(twin) is kind
        assert str(twin) == "what Hint: do"
    assert isinstance(error, SumwiseError)


@pytest.mark.parametrize("name", ["x" * 5_000, "two words " * 500, "it's " * 1_000, 'a "b" ' * 900])
def test_a_long_name_is_cut_in_errors_and_warnings(name):
    message = f"There is no column {name!r} in 'a.csv'."
    error = DataError(message, hint=f"did you mean {name!r}?")
    for text in (str(error), str(ModelWarning(message)), str(NotConverged(message))):
        assert text.startswith("There is no column")
        assert len(text) < 4_100 if "b" in name else len(text) < 700
        assert "characters" in text
    assert error.hint.startswith("did you mean")


def test_usual_messages_and_long_paths_stay_whole():
    for text in (
        "It isn't there; " + "so it can't be read, and doesn't count. " * 12,
        "No 'a' or 'b' " * 100,
        "/a" * 120,
    ):
        assert readable(text) == text
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("3 units are empty.", ModelWarning, stacklevel=1)
    assert str(caught[0].message) == "3 units are empty."


def test_each_kind_is_issued_once_with_its_number():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with group_warnings():
            for left in (3, 2, 1):
                warnings.warn(f"{left} left", NotConverged, stacklevel=1)
            warnings.warn("few units", ModelWarning, stacklevel=1)
    assert [str(w.message) for w in caught] == ["3 left (and 2 more like it)", "few units"]


def test_errors_pass_through():
    with pytest.raises(ZeroDivisionError), group_warnings():
        _ = 1 / 0
