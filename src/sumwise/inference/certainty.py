"""One statement of certainty per finding: a probability and an interval's width in words."""

from __future__ import annotations

from sumwise import checks

__all__ = ["certainty"]

# Likelihood scale of the IPCC's uncertainty guidance (Mastrandrea et al. 2010), which readers of reports know.
SCALE = (
    (0.99, "virtually certain"),
    (0.95, "extremely likely"),
    (0.90, "very likely"),
    (0.66, "likely"),
    (1 / 3, "about as likely as not"),
    (0.10, "unlikely"),
    (0.05, "very unlikely"),
    (0.01, "extremely unlikely"),
    (0.0, "exceptionally unlikely"),
)


def certainty(probability: float, width: float | None = None, possible: float | None = None) -> str:
    """Return the words for how sure a finding is.

    Parameters
    ----------
    probability : float in [0, 1]
        That the finding is true, from the same draws as the estimate.
    width : float, optional
        Width of the interval of the quantity that the finding is about.
    possible : float, optional
        Width of the range that it would have whatever the model (its bounds). An interval that is as wide says that
        the data add nothing, and the words say so.

    Examples
    --------
    >>> from sumwise.inference import certainty
    >>> certainty(0.97)
    'extremely likely (probability 0.97)'
    >>> certainty(0.9999)
    'virtually certain (probability above 0.99)'
    >>> certainty(0.8, width=0.5, possible=0.55)
    'likely (probability 0.80), but the interval covers 91% of what is possible whatever the model'
    """
    probability = float(checks.finite(probability, "probability"))
    checks.at_least(probability, "probability", 0, whole_number=False)
    checks.at_least(1 - probability, "1 - probability", 0, whole_number=False)
    words = next(words for least, words in SCALE if probability >= least)
    shown = f"{probability:.2f}"
    if probability > 0.99 or probability < 0.01:  # two decimals would say 1.00 or 0.00
        shown = "above 0.99" if probability > 0.5 else "below 0.01"
    if width is None or possible is None or possible <= 0 or width < possible / 2:
        return f"{words} (probability {shown})"
    part = min(width / possible, 1.0)
    return f"{words} (probability {shown}), but the interval covers {part:.0%} of what is possible whatever the model"
