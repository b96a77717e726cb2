"""Embeddings, bag kernels and estimators on bags with a response."""

from sumwise.distribution.deep_sets import DeepSets

__all__ = ["DeepSets"]
