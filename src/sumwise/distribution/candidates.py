"""The methods that `BagStacking` averages by default."""

from __future__ import annotations

from typing import Any

from sumwise.bags import Bags
from sumwise.distribution.bag_kernel import EmbeddingKernel
from sumwise.distribution.bag_of_words import BagOfWords
from sumwise.distribution.columns import Columns
from sumwise.distribution.embedding import Embedding, LinearEmbedding
from sumwise.distribution.fourier import FourierEmbedding
from sumwise.distribution.kernel_embedding import KernelEmbedding
from sumwise.distribution.kernel_ridge import BagKernelRidge
from sumwise.distribution.logistic import BagLogistic
from sumwise.distribution.moments import MomentEmbedding
from sumwise.distribution.quantile import QuantileEmbedding
from sumwise.distribution.ridge import BagRidge

MANY_BAGS = 5_000  # above, kernels between all bags take minutes: their cost is the cube of the number


def default_candidates(bags: Bags, task: str, seed: int) -> dict[str, Any]:
    """Return the methods by name: five embeddings and, of up to 5,000 bags, kernels; trees on bag features.

    Networks are left to `DeepSets`, which needs hundreds of bags and minutes; give it in ``candidates`` to average it.

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.distribution.candidates import default_candidates
    >>> list(default_candidates(synthetic.gamma(20, 10, random_state=0).bags, "regression", 0))[:2]
    ['means', 'moments']
    """
    embeddings: dict[str, Embedding] = {
        "means": LinearEmbedding(),
        "moments": MomentEmbedding(),
        "quantiles": QuantileEmbedding(),
        "Fourier features": FourierEmbedding(moments=True),
        "bag of words": BagOfWords(),
    }
    trees = {"random forest": _on_trees(bags, seed, _forest(task, seed))}
    if task == "classification":
        if len(bags) <= MANY_BAGS:
            embeddings["Wasserstein kernel"] = KernelEmbedding()
            embeddings["words, Laplace kernel"] = KernelEmbedding(EmbeddingKernel(BagOfWords(), "laplace"))
        return {n: BagLogistic(e, target="classes", random_state=seed) for n, e in embeddings.items()} | trees
    methods: dict[str, Any] = {name: BagRidge(e, random_state=seed) for name, e in embeddings.items()}
    if len(bags) <= MANY_BAGS:
        words = EmbeddingKernel(BagOfWords(), "laplace")
        methods["words, Laplace kernel"] = BagKernelRidge(words, random_state=seed)
        methods["Wasserstein kernel"] = BagKernelRidge(random_state=seed)
    return methods | trees


def _on_trees(bags: Bags, seed: int, trees: Any) -> Any:
    """Scikit-learn's trees on moments and quantiles; of few columns also covariances and Fourier features."""
    from sklearn.pipeline import make_pipeline, make_union

    columns = Columns.learn(bags).dimension
    few = columns * columns <= len(bags)  # as many covariances as columns squared: no more than there are bags
    parts: list[Embedding] = [MomentEmbedding(4, cross=few), QuantileEmbedding(9)]
    if few:
        parts.append(FourierEmbedding(8, (1.0, 0.5), random_state=seed))
    return make_pipeline(make_union(*parts), trees)


def _forest(task: str, seed: int) -> Any:
    from sklearn.ensemble import ExtraTreesRegressor, RandomForestClassifier

    if task == "classification":
        return RandomForestClassifier(300, min_samples_leaf=2, random_state=seed)
    return ExtraTreesRegressor(300, min_samples_leaf=2, random_state=seed)
