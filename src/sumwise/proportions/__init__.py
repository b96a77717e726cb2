"""Classifiers of individuals from class counts per bag."""

from sumwise.proportions.aggregate_regressor import AggregateRegressor
from sumwise.proportions.alternating_mean_map import AlternatingMeanMap
from sumwise.proportions.cardinality import CardinalityClassifier
from sumwise.proportions.cardinality_network import CardinalityNetwork
from sumwise.proportions.count_loss import CountLoss
from sumwise.proportions.counts import at_least_one, intervals
from sumwise.proportions.covariates import Covariates
from sumwise.proportions.identification import Identifiability, identifiability
from sumwise.proportions.instances import OnInstances, on_instances
from sumwise.proportions.mean_embedding import MeanEmbeddingClassifier
from sumwise.proportions.mean_map import MeanMap
from sumwise.proportions.oracle import Oracle, label_bags
from sumwise.proportions.subgroup_shares import Subgroups, subgroups
from sumwise.splitters import BagKFold, SpatialBagKFold, StratifiedBagKFold

__all__ = [
    "AggregateRegressor",
    "AlternatingMeanMap",
    "BagKFold",
    "CardinalityClassifier",
    "CardinalityNetwork",
    "CountLoss",
    "Covariates",
    "Identifiability",
    "MeanEmbeddingClassifier",
    "MeanMap",
    "OnInstances",
    "Oracle",
    "SpatialBagKFold",
    "StratifiedBagKFold",
    "Subgroups",
    "at_least_one",
    "identifiability",
    "intervals",
    "label_bags",
    "on_instances",
    "subgroups",
]
