"""Estimators on Margins: the cells behind row and column totals."""

from sumwise.ecological.aggregation_bias import aggregation_bias_test
from sumwise.ecological.bounds import Bounds
from sumwise.ecological.composition_sensitivity import place_shares, sensitivity, sensitivity_band
from sumwise.ecological.em import EcologicalEM
from sumwise.ecological.goodman import Goodman
from sumwise.ecological.identification import doubts
from sumwise.ecological.king import King
from sumwise.ecological.multinomial_dirichlet import MultinomialDirichlet
from sumwise.ecological.segregation_indices import segregation
from sumwise.ecological.unit_influence import influence
from sumwise.ecological.validation import error_index, validate

__all__ = [
    "Bounds",
    "EcologicalEM",
    "Goodman",
    "King",
    "MultinomialDirichlet",
    "aggregation_bias_test",
    "doubts",
    "error_index",
    "influence",
    "place_shares",
    "segregation",
    "sensitivity",
    "sensitivity_band",
    "validate",
]
