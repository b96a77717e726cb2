"""Embeddings, bag kernels and estimators on bags with a response."""

from sumwise.distribution.bag_kernel import EmbeddingKernel
from sumwise.distribution.deep_sets import DeepSets
from sumwise.distribution.embedding import LinearEmbedding
from sumwise.distribution.fisher import FisherVector
from sumwise.distribution.fourier import FourierEmbedding
from sumwise.distribution.kernel_embedding import KernelEmbedding
from sumwise.distribution.kernel_ridge import BagKernelRidge
from sumwise.distribution.logistic import BagLogistic
from sumwise.distribution.moments import MomentEmbedding
from sumwise.distribution.quantile import QuantileEmbedding
from sumwise.distribution.recommend import Recommendation, recommend
from sumwise.distribution.ridge import BagRidge
from sumwise.distribution.wasserstein import WassersteinKernel
from sumwise.distribution.words import BagOfWords

__all__ = [
    "BagKernelRidge",
    "BagLogistic",
    "BagOfWords",
    "BagRidge",
    "DeepSets",
    "EmbeddingKernel",
    "FisherVector",
    "FourierEmbedding",
    "KernelEmbedding",
    "LinearEmbedding",
    "MomentEmbedding",
    "QuantileEmbedding",
    "Recommendation",
    "WassersteinKernel",
    "recommend",
]
