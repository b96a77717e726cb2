"""Recognising files moved to a package of its own; its old place still works, and warns."""

import pytest


@pytest.mark.parametrize("name", ["Guess", "recognise"])
def test_recognising_files_is_still_found_in_its_old_place(name):
    import sumwise.recognise
    import sumwise.study.recognise as old

    with pytest.warns(DeprecationWarning, match=f"now called sumwise.recognise.{name}"):
        assert getattr(old, name) is getattr(sumwise.recognise, name)
