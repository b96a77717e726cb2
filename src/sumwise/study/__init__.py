"""From a problem file to a result folder: one adapter per family, and what they share."""

from sumwise.schema.problem import Problem
from sumwise.study.families import FAMILIES, study_of

__all__ = ["FAMILIES", "Problem", "study_of"]
