"""Which methods are worth trying on given bags, simplest first."""

from __future__ import annotations

from typing import Any

from sumwise.bags import Bags
from sumwise.distribution.bag_kernel import EmbeddingKernel
from sumwise.distribution.bag_of_words import BagOfWords
from sumwise.distribution.boosting import BagBoosting, tree_features
from sumwise.distribution.deep_sets import DeepSets
from sumwise.distribution.embedding import Embedding, LinearEmbedding
from sumwise.distribution.fisher_vector import FisherVector
from sumwise.distribution.fourier import FourierEmbedding
from sumwise.distribution.kernel_embedding import KernelEmbedding
from sumwise.distribution.kernel_ridge import BagKernelRidge
from sumwise.distribution.logistic import BagLogistic
from sumwise.distribution.moments import MomentEmbedding
from sumwise.distribution.quantile import QuantileEmbedding
from sumwise.distribution.ridge import BagRidge

FEW_BAGS = 300  # below, a network isn't tried
MANY_BAGS = 20_000  # above, kernels take minutes
COMPONENTS = 32  # of a Fisher vector
N_TREES = 300  # of a forest


def default_candidates(bags: Bags, task: str, seed: int) -> tuple[dict[str, Any], list[str]]:
    """Return estimators by name, and why some were not taken.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.distribution.candidates import default_candidates
    >>> found, reasons = default_candidates(synthetic.gamma(20, 10, random_state=0).bags, "regression", 0)
    >>> list(found)[0], reasons[-1]
    ('means', 'DeepSets was not tried: 20 bags are few for a network (300 or more).')
    """
    found, reasons = _fixed(bags, task, seed)
    if len(bags) >= FEW_BAGS:
        found["DeepSets"] = DeepSets(task=task, random_state=seed)
    else:
        reasons.append(f"DeepSets was not tried: {len(bags)} bags are few for a network ({FEW_BAGS} or more).")
    return found, reasons


def _fixed(bags: Bags, task: str, seed: int) -> tuple[dict[str, Any], list[str]]:
    embeddings: dict[str, Embedding] = {
        "means": LinearEmbedding(),
        "moments": MomentEmbedding(),
        "quantiles": QuantileEmbedding(),
        "Fourier features": FourierEmbedding(moments=True),
        "bag of words": BagOfWords(),
    }
    reasons = []
    length = (2 * bags.n_features + 1) * COMPONENTS
    if length <= 10 * len(bags):
        embeddings["Fisher vector"] = FisherVector(COMPONENTS)
    else:
        reasons.append(f"The Fisher vector was not tried: it would have {length} numbers for {len(bags)} bags.")
    boosting = BagBoosting(task, random_state=seed)
    if task == "classification":
        if len(bags) <= MANY_BAGS:
            embeddings["Wasserstein kernel"] = KernelEmbedding()
            embeddings["words, Laplace kernel"] = KernelEmbedding(EmbeddingKernel(BagOfWords(), "laplace"))
        made = {n: BagLogistic(e, target="classes", random_state=seed) for n, e in embeddings.items()}
        return {**made, "gradient boosting": boosting, "random forest": _forest(bags, seed)}, reasons
    found: dict[str, Any] = {name: BagRidge(e, random_state=seed) for name, e in embeddings.items()}
    if len(bags) <= MANY_BAGS:
        words = EmbeddingKernel(BagOfWords(), "laplace")
        found["words, Laplace kernel"] = BagKernelRidge(words, random_state=seed)
        found["Wasserstein kernel"] = BagKernelRidge(random_state=seed)
    else:
        reasons.append(f"Kernels were not tried: {len(bags)} bags take minutes ({MANY_BAGS} at most).")
    return {**found, "gradient boosting": boosting}, reasons


def _forest(bags: Bags, seed: int) -> Any:
    """A random forest on the features that boosted trees have: better than these on a few hundred bags of classes."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline, make_union

    forest = RandomForestClassifier(N_TREES, min_samples_leaf=2, random_state=seed)
    return make_pipeline(make_union(*tree_features(bags, seed)), forest)
