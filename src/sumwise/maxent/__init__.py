"""Classifiers of individuals from contingency tables."""

from sumwise.maxent.best_pair import BestPair
from sumwise.maxent.cross_logistic import SampledLogistic, skyline
from sumwise.maxent.dropping import drop_tied
from sumwise.maxent.max_ent import MaxEntClassifier
from sumwise.maxent.merging import merge_levels
from sumwise.maxent.naive_bayes import NaiveBayesTables
from sumwise.maxent.support import Support, can_support
from sumwise.maxent.tree_augmented import TreeAugmentedNaiveBayes

__all__ = [
    "BestPair",
    "MaxEntClassifier",
    "NaiveBayesTables",
    "SampledLogistic",
    "Support",
    "TreeAugmentedNaiveBayes",
    "can_support",
    "drop_tied",
    "merge_levels",
    "skyline",
]
