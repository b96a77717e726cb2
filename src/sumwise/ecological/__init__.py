"""Estimators on Margins: the cells behind row and column totals."""

from sumwise.deprecated import renamed
from sumwise.ecological.aggregation_bias import aggregation_bias_test
from sumwise.ecological.bounds import Bounds
from sumwise.ecological.candidates_of_choice import VotingPatterns, probability_text, voting_patterns
from sumwise.ecological.composition_sensitivity import sensitivity, sensitivity_contours
from sumwise.ecological.districts import district_performance
from sumwise.ecological.em import EcologicalEM
from sumwise.ecological.goodman import Goodman
from sumwise.ecological.homogeneous_precincts import homogeneous_units
from sumwise.ecological.identification import doubts
from sumwise.ecological.king import King
from sumwise.ecological.method_choice import default_method
from sumwise.ecological.multinomial_dirichlet import MultinomialDirichlet
from sumwise.ecological.polarisation import POLARISED, decisive_groups, polarised_voting
from sumwise.ecological.segregation_indices import segregation
from sumwise.ecological.surname_geocoding import bisg, uncertain_margins
from sumwise.ecological.turnout_by_group import Turnout, turnout, two_stage_turnout
from sumwise.ecological.unit_influence import influence
from sumwise.ecological.validation import Validation, error_index, validate

__all__ = [
    "POLARISED",
    "Bounds",
    "EcologicalEM",
    "Goodman",
    "King",
    "MultinomialDirichlet",
    "Turnout",
    "Validation",
    "VotingPatterns",
    "aggregation_bias_test",
    "bisg",
    "decisive_groups",
    "default_method",
    "district_performance",
    "doubts",
    "error_index",
    "homogeneous_units",
    "influence",
    "polarised_voting",
    "probability_text",
    "segregation",
    "sensitivity",
    "sensitivity_contours",
    "turnout",
    "two_stage_turnout",
    "uncertain_margins",
    "validate",
    "voting_patterns",
]

__getattr__ = renamed("sumwise.ecological", {"findings": "voting_patterns", "Findings": "VotingPatterns"})
