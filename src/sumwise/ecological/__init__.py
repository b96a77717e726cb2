"""Estimators on Margins: the cells behind row and column totals."""

from sumwise.ecological.bounds import Bounds
from sumwise.ecological.goodman import Goodman
from sumwise.ecological.identification import doubts

__all__ = ["Bounds", "Goodman", "doubts"]
