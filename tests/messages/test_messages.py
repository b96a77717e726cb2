"""The snapshots of messages: the same as the source says, and a test that names one takes no other."""

import warnings

import pytest

from messages import differs, gives, raises, warns
from messages.source import Message, keyed, lines, messages, new_key, own_letters, pieces, read
from sumwise.errors import DataError, ModelWarning, UnknownName

AGAIN = "the source says something else. `make messages` writes the snapshots again; read what has changed"


@pytest.mark.check  # it reads the whole source
def test_the_snapshots_are_what_the_source_says():
    known = read()
    now = keyed(messages(), known)
    assert lines(now) == lines(known), AGAIN


def test_pieces_are_what_every_text_of_a_message_has():
    assert pieces(r"{} is {a|one of {}}, \{so\}. {}") == [" is ", ", {so}. "]
    assert own_letters("{}: {yes|no}, it is {} Hint: {}") == 4


def test_a_key_stays_when_the_wording_changes():
    old = {
        "no-column": Message("DataError", "There is no column {}.", "io"),
        "y-empty": Message("X", "y is empty.", "io"),
    }
    new = [Message("DataError", "There isn't a column {}.", "io"), Message("DataError", "Something else: {}.", "io")]
    now = keyed(new, old)
    assert now["no-column"] == new[0]
    assert "y-empty" not in now
    assert sorted(now) == ["no-column", "something-else"]


def test_keys_are_made_of_the_first_words_and_are_unique():
    text = "The file {} holds {} columns, not {}. Hint: count them."
    assert new_key(text, ()) == "file-holds-columns"
    assert new_key(text, ("file-holds-columns",)) == "file-holds-columns-not"
    assert new_key("x", ("x",)) == "x-2"


def no_column(name):
    raise UnknownName(f"There is no column {name!r}.", hint="there are 'a', 'b'.")


def test_a_message_is_recognised_by_its_key_and_its_names():
    with raises(UnknownName, "there-is-no", "column", "votes"):
        no_column("votes")
    with raises(UnknownName, "there-is-no", "votes"):
        no_column("votes")
    assert gives("problem, line 3: There is no column 'x'. Hint: there are 'a', 'b'.", "there-is-no", "x")


@pytest.mark.parametrize(
    ("key", "names"),
    [("there-is-no", ["vote"]), ("there-is-no", ["there"]), ("y-empty", []), ("folder-tables-rows", [])],
)
def test_another_message_and_another_name_are_not_accepted(key, names):
    with pytest.raises(AssertionError), raises(UnknownName, key, *names):
        no_column("votes")


def test_another_class_is_not_accepted():
    with pytest.raises(DataError), raises(ZeroDivisionError, "there-is-no"):
        no_column("votes")


def test_a_more_specific_message_is_not_taken_for_a_general_one():
    hint = "give a position, a list of them, a slice, or one True or False per unit."
    specific = f"Units can't be chosen by a list. Hint: {hint}"
    assert differs(specific, "units-cant-chosen")
    assert gives(specific, "units-cant-chosen-position")
    assert gives(specific, "units-cant-chosen|units-cant-chosen-position")


def constant():
    warnings.warn("2 of 3 columns are constant ('a', 'b') and are left out.", ModelWarning, stacklevel=1)


def test_warnings_are_recognised_as_errors_are():
    with warns(ModelWarning, "columns-constant-left", 2, "a"):
        constant()
    with pytest.raises(AssertionError), warns(ModelWarning, "columns-constant-left", 4):
        constant()
    with pytest.warns(ModelWarning), pytest.raises(pytest.fail.Exception), warns(ModelWarning, "bags-lie-more"):
        constant()
