"""One statement of certainty per finding: a probability in words."""

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


def certainty(probability: float) -> str:
    """Return the words for how sure a finding is.

    Parameters
    ----------
    probability : float in [0, 1]
        That the finding is true, from the same draws as the estimate.

    Examples
    --------
    >>> from sumwise.inference import certainty
    >>> certainty(0.97)
    'extremely likely (probability 0.97)'
    >>> certainty(0.9999)
    'virtually certain (probability above 0.99)'
    """
    probability = float(checks.finite(probability, "probability"))
    checks.at_least(probability, "probability", 0, whole_number=False)
    checks.at_least(1 - probability, "1 - probability", 0, whole_number=False)
    words = next(words for least, words in SCALE if probability >= least)
    shown = f"{probability:.2f}"
    if probability > 0.99 or probability < 0.01:  # two decimals would say 1.00 or 0.00
        shown = "above 0.99" if probability > 0.5 else "below 0.01"
    return f"{words} (probability {shown})"
