"""Every exported figure draws on the axes that it is given, and returns them."""

import doctest
import inspect

import matplotlib.pyplot as plt
import pytest

from sumwise import plots

FIGURES = [name for name in plots.__all__ if name.startswith("plot_")]


@pytest.mark.parametrize("name", FIGURES)
def test_figures_draw_on_given_axes_and_return_them(name, monkeypatch):
    figure, given, returned = getattr(plots, name), plt.subplots()[1], []

    def drawn(*args, **options):
        bound = inspect.signature(figure).bind(*args, **options)
        bound.arguments["ax"] = given
        returned.append(figure(*bound.args, **bound.kwargs))
        return returned[-1]

    monkeypatch.setattr(plots, name, drawn)
    space: dict = {}
    for example in doctest.DocTestParser().get_examples(figure.__doc__):  # the numbers are those of its example
        exec(compile(example.source, name, "exec"), space)
    assert returned, f"the example of {name} doesn't call it"
    assert all(ax is given for ax in returned)
    assert given.has_data()
