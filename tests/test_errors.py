import copy
import pickle

import pytest

from sumwise.errors import DataError, MissingExtra, SumwiseError, UnknownName


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
