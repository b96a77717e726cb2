"""Which methods are worth trying on given bags, simplest first."""

from __future__ import annotations

from typing import Any

from sumwise.bags import Bags
from sumwise.distribution.deep_sets import DeepSets
from sumwise.distribution.embedding import LinearEmbedding
from sumwise.distribution.fourier import FourierEmbedding
from sumwise.distribution.moments import MomentEmbedding
from sumwise.distribution.ridge import BagRidge

__all__ = ["FEW_BAGS", "default_candidates"]

FEW_BAGS = 300  # below, a network isn't tried


def default_candidates(bags: Bags, task: str, seed: int) -> tuple[dict[str, Any], list[str]]:
    """Return estimators by name, and why some were not taken.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.distribution.candidates import default_candidates
    >>> found, reasons = default_candidates(synthetic.gamma(20, 10, random_state=0).bags, "regression", 0)
    >>> list(found)[0], reasons
    ('means', ['DeepSets was not tried: 20 bags are few for a network (300 or more).'])
    """
    found: dict[str, Any] = {}
    reasons = []
    if task == "regression":
        found["means"] = BagRidge(LinearEmbedding())
        found["moments"] = BagRidge(MomentEmbedding())
        found["Fourier features"] = BagRidge(FourierEmbedding(), random_state=seed)
    if len(bags) >= FEW_BAGS:
        found["DeepSets"] = DeepSets(task=task, random_state=seed)
    else:
        reasons.append(f"DeepSets was not tried: {len(bags)} bags are few for a network ({FEW_BAGS} or more).")
    return found, reasons
