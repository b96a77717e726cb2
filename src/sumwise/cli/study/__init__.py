"""From a problem file to a result folder: one adapter per family, and what they share."""

from sumwise.cli.study.families import FAMILIES, study_of
from sumwise.schema.problem import Problem

__all__ = ["FAMILIES", "Problem", "study_of"]
