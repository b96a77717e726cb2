"""Which method to use on bags with a response by default: the best of four quick ones."""

from __future__ import annotations

from typing import Any

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.embedding import LinearEmbedding
from sumwise.distribution.fourier import FourierEmbedding
from sumwise.distribution.moments import MomentEmbedding
from sumwise.distribution.quantile import QuantileEmbedding
from sumwise.distribution.recommend import SCORES, Recommendation, recommend
from sumwise.distribution.ridge import BagRidge

QUICK_METHODS = {  # simplest first
    "means": LinearEmbedding,
    "moments": MomentEmbedding,
    "quantiles": QuantileEmbedding,
    "fourier": FourierEmbedding,
}


def default_method(bags: Bags, y: Any, *, n_folds: int = 5, random_state: Any = 0) -> Recommendation:
    """Return the quick method that ``sumwise fit`` uses on these bags: `recommend` over four embeddings.

    Parameters
    ----------
    bags : Bags
    y : array of shape (n_bags,) or (n_bags, n_outputs)
    n_folds : int, default 5
        Fewer where there are fewer than ten bags; below four bags nothing is compared.
    random_state : int, Generator or None, default 0

    Returns
    -------
    Recommendation
        Of ``"means"``, ``"moments"``, ``"quantiles"`` or ``"fourier"``, each with ridge regression.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.distribution import default_method
    >>> data = synthetic.gamma(60, 40, random_state=0)
    >>> list(default_method(data.bags, data.response).scores)
    ['means', 'moments', 'quantiles', 'fourier']
    """
    rng = checks.generator(random_state)
    seed = int(rng.integers(2**31))
    tried = {name: BagRidge(embedding(), random_state=seed) for name, embedding in QUICK_METHODS.items()}
    n_folds = min(n_folds, len(bags) // 2)
    if n_folds < 2:
        few = (f"{len(bags)} bags are too few to compare methods.",)
        return Recommendation("means", tried["means"], {}, {}, few, SCORES["regression"])
    return recommend(bags, y, n_folds=n_folds, candidates=tried, random_state=rng)
