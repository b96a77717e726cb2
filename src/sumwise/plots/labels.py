"""Names in figures: long ones are cut, so that the picture stays larger than its labels."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any


def short(name: object, most: int = 28) -> str:
    """A name on one line, cut in the middle where it is long.

    Examples
    --------
    >>> from sumwise.plots.labels import short
    >>> short("Registered voters of no party\\nat all", 20)
    'Registered…ty at all'
    """
    text = " ".join(str(name).split())
    text = "".join(c if c.isprintable() else "�" for c in text)
    if len(text) <= most:
        return text
    half = (most - 1) // 2
    return f"{text[: most - 1 - half]}…{text[-half:]}"


def tips(artist: Any, words: Sequence[str]) -> Any:
    """Put the values of an artist's marks on it, for pictures that show them on hover; returns the artist.

    Parameters
    ----------
    artist : matplotlib artist
        With one mark per entry, or any artist with one entry.
    words : sequence of str

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sumwise.plots.labels import tips
    >>> tips(plt.subplots()[1].scatter([1], [2]), ["a: 1, 2"]).get_gid()[:4]
    'tip-'
    """
    text = json.dumps([" ".join(str(word).split()) for word in words], ensure_ascii=False)
    artist.set_gid(f"tip-{base64.urlsafe_b64encode(text.encode('utf-8')).decode('ascii')}")
    return artist


def percent(value: float) -> str:
    """A share as people read it."""
    return f"{100 * value:.1f}%"


def fitted(*values: Any, pad: float = 0.04, least: tuple[float, float] | None = None) -> tuple[float, float]:
    """The ends of an axis that hold all values, and `least`, with a margin.

    Examples
    --------
    >>> from sumwise.plots.labels import fitted
    >>> fitted([0.2, 1.3], pad=0.0, least=(0, 1))
    (0.0, 1.3)
    """
    import numpy as np

    every = np.concatenate([np.ravel(np.asarray(v, dtype=float)) for v in values] + [np.array(least or ())])
    every = every[np.isfinite(every)]
    if not every.size:
        return 0.0, 1.0
    low, high = float(every.min()), float(every.max())
    edge = pad * ((high - low) or 1.0)
    return low - edge, high + edge
