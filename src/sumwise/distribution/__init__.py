"""Embeddings, bag kernels and estimators on bags with a response."""

from sumwise.distribution.bag_kernel import EmbeddingKernel
from sumwise.distribution.bag_of_words import BagOfWords
from sumwise.distribution.deep_sets import DeepSets
from sumwise.distribution.earth_mover import earth_movers_distance
from sumwise.distribution.embedding import LinearEmbedding
from sumwise.distribution.fisher_vector import FisherVector
from sumwise.distribution.fourier import FourierEmbedding
from sumwise.distribution.gaussian_kernel import GaussianKernel, MarginalKernel
from sumwise.distribution.gaussian_mixture import mixture_similarity
from sumwise.distribution.gaussian_process import BagGaussianProcess
from sumwise.distribution.gaussian_w2 import GaussianW2Kernel
from sumwise.distribution.kernel_embedding import KernelEmbedding
from sumwise.distribution.kernel_ridge import BagKernelRidge
from sumwise.distribution.logistic import BagLogistic
from sumwise.distribution.moments import MomentEmbedding
from sumwise.distribution.pyramid_match import PyramidMatchKernel
from sumwise.distribution.quantile import QuantileEmbedding
from sumwise.distribution.ridge import BagRidge
from sumwise.distribution.stacking import BagStacking
from sumwise.distribution.wasserstein import WassersteinKernel

__all__ = [
    "BagGaussianProcess",
    "BagKernelRidge",
    "BagLogistic",
    "BagOfWords",
    "BagRidge",
    "BagStacking",
    "DeepSets",
    "EmbeddingKernel",
    "FisherVector",
    "FourierEmbedding",
    "GaussianKernel",
    "GaussianW2Kernel",
    "KernelEmbedding",
    "LinearEmbedding",
    "MarginalKernel",
    "MomentEmbedding",
    "PyramidMatchKernel",
    "QuantileEmbedding",
    "WassersteinKernel",
    "earth_movers_distance",
    "mixture_similarity",
]
