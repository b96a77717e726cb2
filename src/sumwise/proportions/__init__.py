"""Classifiers of individuals from class counts per bag."""

from sumwise.proportions.alternating import AlternatingMeanMap
from sumwise.proportions.cardinality import CardinalityClassifier
from sumwise.proportions.counts import apportion, at_least_one, intervals
from sumwise.proportions.identify import Identifiability, identifiability
from sumwise.proportions.instances import OnInstances, on_instances
from sumwise.proportions.mean_embedding import MeanEmbeddingClassifier
from sumwise.proportions.mean_map import MeanMap
from sumwise.proportions.nested import nest
from sumwise.proportions.network import CardinalityNetwork
from sumwise.proportions.weights import draw, effective_sizes

__all__ = [
    "AlternatingMeanMap",
    "CardinalityClassifier",
    "CardinalityNetwork",
    "Identifiability",
    "MeanEmbeddingClassifier",
    "MeanMap",
    "OnInstances",
    "apportion",
    "at_least_one",
    "draw",
    "effective_sizes",
    "identifiability",
    "intervals",
    "nest",
    "on_instances",
]
