"""Names in figures."""

import matplotlib.pyplot as plt
import numpy as np

from sumwise.plots.labels import distinct, line_names, short


def test_short_cuts_long_names_in_the_middle_and_keeps_one_line():
    assert short("abc") == "abc"
    assert short("a\n b\t\x00c") == "a b �c"
    cut = short("x" * 50 + "y" * 50, 21)
    assert len(cut) == 21
    assert cut == "x" * 10 + "…" + "y" * 10


def test_axes_hold_every_value():
    from sumwise.plots.labels import fitted

    low, high = fitted([0.2, np.nan], [1.3], least=(0, 1))
    assert low < 0 < 1.3 < high
    assert fitted([]) == (0.0, 1.0)


def test_tips_survive_any_text():
    import base64
    import json

    from sumwise.plots.labels import tips

    words = ['a "b" <c>', "two\nlines", "é"]
    gid = tips(plt.subplots()[1].scatter([1, 2, 3], [1, 2, 3]), words).get_gid()
    assert json.loads(base64.urlsafe_b64decode(gid.removeprefix("tip-"))) == ['a "b" <c>', "two lines", "é"]


def test_names_that_differ_never_look_alike():
    long = [f"Citizens who have lived here for more than {n} consecutive years of their lives" for n in ("two", "five")]
    for most in (20, 40):
        assert len(set(distinct(long, most))) == 2
        assert len(set(line_names({"groups": long, "outcomes": ["yes", "no"]}, most))) == 4


def test_percent_ticks_are_exact():
    import matplotlib.pyplot as plt

    from sumwise.plots.labels import percent_axes

    ax = plt.subplots()[1]
    ax.set_xticks([0.45, 0.475, 0.5])
    ax.set_yticks([0.2, 0.4])
    percent_axes(ax.xaxis, ax.yaxis)
    ax.figure.canvas.draw()
    assert [t.get_text() for t in ax.get_xticklabels()] == ["45.0%", "47.5%", "50.0%"]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["20%", "40%"]
    plt.close("all")
