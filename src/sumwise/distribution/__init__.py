"""Embeddings, bag kernels and estimators on bags with a response."""

from sumwise.distribution.deep_sets import DeepSets
from sumwise.distribution.embedding import LinearEmbedding
from sumwise.distribution.fourier import FourierEmbedding
from sumwise.distribution.moments import MomentEmbedding
from sumwise.distribution.recommend import Recommendation, recommend
from sumwise.distribution.ridge import BagRidge

__all__ = [
    "BagRidge",
    "DeepSets",
    "FourierEmbedding",
    "LinearEmbedding",
    "MomentEmbedding",
    "Recommendation",
    "recommend",
]
