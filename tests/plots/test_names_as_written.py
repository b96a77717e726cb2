"""Names with dollar signs are no formulas, whichever figure they stand in."""

import matplotlib.pyplot as plt
import pytest
from matplotlib.cbook import is_math_text
from matplotlib.text import Text

from sumwise import Margins, plots, synthetic
from sumwise.ecological import Goodman

NAME = "$25k-$75k"


@pytest.fixture
def margins():
    made = synthetic.precincts(12, 2, 2, random_state=0).margins
    return Margins(made.rows, made.cols, row_names=[NAME, "others"], col_names=["yes", "no"])


def formulas(ax):
    texts = ax.figure.findobj(Text)
    assert any(NAME in text.get_text() for text in texts)
    return [text for text in texts if text.get_parse_math() and is_math_text(text.get_text())]


def test_dollars_of_data_models_and_estimates_are_no_formulas(margins):
    model = Goodman(constrained=True).fit(margins)
    for ax in (margins.plot(), model.plot(), model.plot(margins), model.estimate(0.95).plot()):
        assert not formulas(ax)
        plt.close(ax.figure)


def test_other_texts_may_be_formulas(margins):
    ax = plots.plot_containers(margins)
    ax.set_title("$x^2$")
    assert ax.title.get_parse_math()
    plt.close(ax.figure)


def test_formulas_that_a_figure_had_before_stay(margins):
    figure, (mine, ours) = plt.subplots(1, 2)
    mine.set_title(r"$\beta$")
    mine.loglog([1, 100], [1, 100])
    ours.set_title(r"$\alpha$")
    figure.canvas.draw()
    plots.plot_containers(margins, ax=ours)
    assert all(text.get_parse_math() for text in [mine.title, *mine.get_xticklabels()])
    assert not [text for text in formulas(ours) if NAME in text.get_text()]
    plt.close(figure)
