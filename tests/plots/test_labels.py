"""Names in figures."""

from sumwise.plots.labels import short


def test_short_cuts_long_names_in_the_middle_and_keeps_one_line():
    assert short("abc") == "abc"
    assert short("a\n b\t\x00c") == "a b �c"
    cut = short("x" * 50 + "y" * 50, 21)
    assert len(cut) == 21
    assert cut == "x" * 10 + "…" + "y" * 10
