"""Classifiers of individuals from class counts per bag."""

from sumwise.proportions.aggregate_regressor import AggregateRegressor
from sumwise.proportions.alternating_mean_map import AlternatingMeanMap
from sumwise.proportions.bootstrap import Bootstrap, bootstrap
from sumwise.proportions.calibrated import CalibratedBagClassifier
from sumwise.proportions.cardinality import CardinalityClassifier
from sumwise.proportions.cardinality_network import CardinalityNetwork
from sumwise.proportions.central_limit import CentralLimitClassifier
from sumwise.proportions.cluster_selection import ClusterSelection
from sumwise.proportions.counts import apportion, at_least_one, intervals
from sumwise.proportions.covariates import Covariates
from sumwise.proportions.easy_llp import EasyLLP
from sumwise.proportions.hard_em import HardEM
from sumwise.proportions.identification import Identifiability, identifiability
from sumwise.proportions.instances import OnInstances, on_instances
from sumwise.proportions.inverse_calibration import InverseCalibration
from sumwise.proportions.label_sampler import LabelSampler
from sumwise.proportions.mean_embedding import MeanEmbeddingClassifier
from sumwise.proportions.mean_map import MeanMap
from sumwise.proportions.method_choice import default_method
from sumwise.proportions.mixbag import MixBag
from sumwise.proportions.nested_counts import nest
from sumwise.proportions.oracle import Oracle, label_bags
from sumwise.proportions.proportion_loss import ProportionLossClassifier
from sumwise.proportions.proportion_svm import ProportionSVM
from sumwise.proportions.regions import Regions, merge_regions
from sumwise.proportions.share_network import ProportionLossNetwork
from sumwise.proportions.subgroups import Subgroups, subgroups
from sumwise.proportions.survey_weights import draw, effective_sizes
from sumwise.proportions.uncertainty import Covariance, covariance
from sumwise.splitters import BagKFold, SpatialBagKFold, StratifiedBagKFold

__all__ = [
    "AggregateRegressor",
    "AlternatingMeanMap",
    "BagKFold",
    "Bootstrap",
    "CalibratedBagClassifier",
    "CardinalityClassifier",
    "CardinalityNetwork",
    "CentralLimitClassifier",
    "ClusterSelection",
    "Covariance",
    "Covariates",
    "EasyLLP",
    "HardEM",
    "Identifiability",
    "InverseCalibration",
    "LabelSampler",
    "MeanEmbeddingClassifier",
    "MeanMap",
    "MixBag",
    "OnInstances",
    "Oracle",
    "ProportionLossClassifier",
    "ProportionLossNetwork",
    "ProportionSVM",
    "Regions",
    "SpatialBagKFold",
    "StratifiedBagKFold",
    "Subgroups",
    "apportion",
    "at_least_one",
    "bootstrap",
    "covariance",
    "default_method",
    "draw",
    "effective_sizes",
    "identifiability",
    "intervals",
    "label_bags",
    "merge_regions",
    "nest",
    "on_instances",
    "subgroups",
]
