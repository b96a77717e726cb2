"""Interval plots: a block of rows per group, a row and a colour per outcome."""

import numpy as np

from sumwise import Margins
from sumwise.ecological import Bounds
from sumwise.plots import interval_numbers
from sumwise.plots.intervals import plot_intervals


def test_one_line_per_cell():
    import matplotlib.pyplot as plt

    share = np.array([[0.7, 0.3], [0.4, 0.6]])
    numbers = {
        "share": share,
        "low": share - 0.1,
        "high": share + 0.1,
        "lower_bound": 0 * share,
        "upper_bound": 0 * share + 1,
    }
    ax = plot_intervals({**numbers, "level": 0.9, "groups": ("a", "b"), "outcomes": ("yes", "no")})
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b"]
    assert [t.get_text() for t in ax.texts] == ["yes", "no"]  # named once, in their colours
    assert "estimate, 90% interval" in [t.get_text() for t in ax.get_legend().get_texts()]
    places = ax.collections[-1].get_offsets()
    assert places[:, 0].tolist() == share.ravel().tolist()
    assert (np.diff(places[:, 1]) < 0).all()
    plt.close("all")


def test_bounds_alone_show_no_estimate():
    import matplotlib.pyplot as plt

    numbers = interval_numbers(Bounds().fit(Margins([[60, 40]], [[80, 20]])))
    for ax in (plot_intervals(numbers), Bounds().fit(Margins([[60, 40]], [[80, 20]])).estimate().plot()):
        assert [t.get_text() for t in ax.get_legend().get_texts()] == ["bounds"]
        ends = ax.collections[-1].get_offsets()[:, 0]
        assert sorted(set(ends.round(2))) == [0.0, 0.33, 0.5, 0.67, 1.0]  # ends of the bounds, no point inside
    plt.close("all")


def test_names_and_rows_lie_inside_the_figure():
    import matplotlib.pyplot as plt

    from sumwise import Estimate

    share = np.full((2, 3), 0.4)
    labels = [["people who moved here after 1990", "all others"], ["a candidate with a long name", "b", "no vote"]]
    ax = Estimate(share, share - 0.1, share + 0.1, 0.95, labels=labels, axes=["group", "outcome"], name="share").plot()
    ax.figure.canvas.draw()
    picture = ax.figure.bbox
    for text in [*ax.get_yticklabels(), *ax.texts, ax.xaxis.label]:
        box = text.get_window_extent()
        assert picture.x0 <= box.x0 < box.x1 <= picture.x1, text
        assert picture.y0 <= box.y0 < box.y1 <= picture.y1, text
    plt.close("all")


def test_what_is_no_finding_is_hatched_and_has_no_dot():
    import matplotlib.pyplot as plt

    share = np.array([[0.7, 0.3], [0.4, 0.6]])
    numbers = {"share": share, "low": share - 0.1, "high": share + 0.1, "lower_bound": share - 0.3}
    numbers |= {"upper_bound": share + 0.3, "withheld": [[True, True], [False, False]], "level": 0.9}
    ax = plot_intervals({**numbers, "groups": ("a", "b"), "outcomes": ("yes", "no")})
    assert [bar.get_hatch() for bar in ax.patches] == ["////", "////"]
    (dots,) = [c for c in ax.collections if len(c.get_offsets()) and hasattr(c, "get_sizes") and len(c.get_sizes())]
    assert dots.get_offsets()[:, 0].tolist() == [0.4, 0.6]
    assert "no finding" in [t.get_text() for t in ax.get_legend().get_texts()]
    plt.close("all")
