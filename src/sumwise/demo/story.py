"""A story and what it finds; all stories of the folder."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sumwise.errors import UnknownName


@dataclass(frozen=True)
class Finding:
    """A number that a story estimated, beside the truth.

    Parameters
    ----------
    what : str
        What the number is, in words.
    estimated : float
        The estimate.
    truth : float, optional
        The truth, where there is one.
    low, high : float, optional
        The interval around the estimate.
    kind : {"number", "share", "count"}, default "number"
        How the page writes it.
    level : float, default 0.95
        Of the interval, where there is one.

    Examples
    --------
    >>> from sumwise.demo import Finding
    >>> print(Finding("support of group A", 0.61, truth=0.6, low=0.58, high=0.64).line())
    support of group A: estimated 0.61 (0.58 to 0.64), truth 0.6, interval covers: yes
    """

    what: str
    estimated: float
    truth: float | None = None
    low: float | None = None
    high: float | None = None
    kind: str = "number"
    level: float = 0.95

    @property
    def covers(self) -> bool | None:
        """Whether the interval holds the truth; None where there is no interval or no truth."""
        if self.low is None or self.high is None or self.truth is None:
            return None
        return bool(self.low <= self.truth <= self.high)

    def line(self) -> str:
        """The finding in one line."""
        text = f"{self.what}: estimated {self.estimated:.4g}"
        if self.low is not None and self.high is not None:
            text += f" ({self.low:.4g} to {self.high:.4g})"
        if self.truth is not None:
            text += f", truth {self.truth:.4g}"
        return text if self.covers is None else f"{text}, interval covers: {'yes' if self.covers else 'no'}"

    def record(self) -> dict:
        """The finding as a dict of plain values."""
        return asdict(self) | {"covers": self.covers}


class Findings(list[Finding]):
    """What a story found, with the figure that shows it.

    Parameters
    ----------
    found : iterable of Finding
    figure : tuple of (str, mapping, str), optional
        A figure function of `sumwise.plots` without ``plot_``, what it draws, and the caption.

    Examples
    --------
    >>> from sumwise.demo import Finding, Findings
    >>> len(Findings([Finding("share of heads", 0.6)]))
    1
    """

    def __init__(self, found: Iterable[Finding], figure: tuple[str, Any, str] | None = None):
        super().__init__(found)
        self.figure = figure


@dataclass(frozen=True)
class Story:
    """One small thing that a family does, in a few lines.

    Parameters
    ----------
    name : str
        The title, in words.
    family : str
        Which family it shows; ``sumwise demo FAMILY`` shows its stories only.
    run : callable
        Takes ``say``, a function that writes one line, and returns a list of `Finding`.
    order : int, default 100
        Its place among the stories.

    Examples
    --------
    >>> from sumwise.demo import Finding, Story
    >>> def run(say):
    ...     say("We hold 10 coins and count 6 heads.")
    ...     return [Finding("share of heads", 0.6, truth=0.5)]
    >>> story = Story("Ten coins", family="containers", run=run)
    >>> for finding in story.run(print):
    ...     print(finding.line())
    We hold 10 coins and count 6 heads.
    share of heads: estimated 0.6, truth 0.5
    """

    name: str
    family: str
    run: Callable[[Callable[[str], None]], list[Finding]]
    order: int = 100


def stories() -> list[Story]:
    """The stories of the folder ``sumwise/demo``, in order.

    Examples
    --------
    >>> from sumwise.demo import stories
    >>> [story.family for story in stories()][0]
    'containers'
    """
    package = importlib.import_module("sumwise.demo")
    names = sorted(
        found.name for found in pkgutil.iter_modules(package.__path__) if found.name not in ("story", "page")
    )
    found = [importlib.import_module(f"sumwise.demo.{name}").STORY for name in names]
    return sorted(found, key=lambda story: (story.order, story.name))


def choose(stories: Iterable[Story], families: Sequence[str]) -> list[Story]:
    """The stories of these families; all of them where none is named.

    Examples
    --------
    >>> from sumwise.demo import choose, stories
    >>> len(choose(stories(), [])) == len(stories())
    True
    """
    stories = list(stories)
    known = list(dict.fromkeys(story.family for story in stories))
    for family in families:
        if family not in known:
            raise UnknownName(f"There is no story of {family!r}.", hint=f"one of {', '.join(known)}.")
    return [story for story in stories if not families or story.family in families]
