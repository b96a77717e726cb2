"""The style of every figure: one style sheet, the colours that figures name, and names that are never formulas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

from sumwise.nonvoting import is_abstention

STYLE = Path(__file__).with_name("sumwise.mplstyle")
# Okabe and Ito, which colour-blind people can tell apart; the style sheet has the same.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#767676")
MOST_COLOURS = len(PALETTE) - 1  # that people tell apart; grey is for not voting
MOST_LINES = 24  # of a figure: at a third of an inch each they fit on a screen
INTERVAL, ESTIMATE = PALETTE[:2]
BOUNDS, FAINT, ABSTENTION = "#b9b9b9", "#9a9a9a", "#767676"


def colours_of(outcomes: Sequence[Any]) -> list[str]:
    """A colour for each outcome; grey for not voting.

    Examples
    --------
    >>> from sumwise.plots.style import colours_of
    >>> colours_of(["Abrams", "Kemp", "no vote"])
    ['#0072B2', '#D55E00', '#767676']
    """
    colours = iter(PALETTE[:-1] * (1 + len(outcomes) // MOST_COLOURS))
    return [ABSTENTION if is_abstention(str(outcome)) else next(colours) for outcome in outcomes]


def styled(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Draw new figures in our style; on axes that are given, only keep names such as "$25k-$75k" from being formulas.

    Texts that the figure had before, as titles of other axes, stay as they are.
    """

    @wraps(draw)
    def drawn(*args: Any, **options: Any) -> Any:
        import matplotlib.style
        from matplotlib.axes import Axes
        from matplotlib.text import Text

        own_axes = next((a for a in (*args, *options.values()) if isinstance(a, Axes)), None)
        if own_axes is None:
            with matplotlib.style.context(STYLE):
                ax, before = draw(*args, **options), {}
        else:
            before = {text: text.get_text() for text in own_axes.figure.findobj(Text)}
            ax = draw(*args, **options)
        for text in ax.figure.findobj(Text) if hasattr(ax, "figure") else ():
            if "$" in text.get_text() and before.get(text) != text.get_text():
                text.set_parse_math(False)
        return ax

    return drawn
