"""Classifiers of individuals from class counts per bag."""

from sumwise.proportions.cardinality import CardinalityClassifier
from sumwise.proportions.counts import apportion, at_least_one, intervals
from sumwise.proportions.weights import draw, effective_sizes

__all__ = [
    "CardinalityClassifier",
    "apportion",
    "at_least_one",
    "draw",
    "effective_sizes",
    "intervals",
]
