import matplotlib.pyplot as plt
import pytest

from sumwise.diagnostics import similarity_numbers
from sumwise.distribution import WassersteinKernel
from sumwise.errors import DataError
from sumwise.plots.similarity import plot_similarity


def test_one_line_per_kernel_with_the_numbers():
    numbers = similarity_numbers({"W1": WassersteinKernel(1), "W2": WassersteinKernel(2)}, n_rows=20)
    figure, axes = plt.subplots(1, 2)
    for varied, ax in zip(("mean", "deviation"), axes):
        assert plot_similarity(numbers, varied, ax=ax) is ax
        part = numbers[(numbers["varied"] == varied) & (numbers["kernel"] == "W2")]
        assert list(ax.lines[1].get_ydata()) == part["similarity"].tolist()
    assert axes[1].get_xscale() == "log"
    plt.close(figure)
    with pytest.raises(DataError, match="varied is 'size'"):
        plot_similarity(numbers, "size")
