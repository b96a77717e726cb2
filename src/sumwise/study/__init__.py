"""From a problem file to a result folder: one adapter per family, and what they share."""

from sumwise.study.families import FAMILIES, study_of
from sumwise.study.problem import Problem

__all__ = ["FAMILIES", "Problem", "study_of"]
