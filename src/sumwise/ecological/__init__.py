"""Estimators on Margins: the cells behind row and column totals."""

from sumwise.deprecated import renamed
from sumwise.ecological.bounds import Bounds
from sumwise.ecological.em import EcologicalEM
from sumwise.ecological.goodman import Goodman
from sumwise.ecological.identification import doubts
from sumwise.ecological.king import King
from sumwise.ecological.multinomial_dirichlet import MultinomialDirichlet
from sumwise.ecological.validation import Validation, error_index, validate
from sumwise.ecological.voting_patterns import VotingPatterns, voting_patterns

__all__ = [
    "Bounds",
    "EcologicalEM",
    "Goodman",
    "King",
    "MultinomialDirichlet",
    "Validation",
    "VotingPatterns",
    "doubts",
    "error_index",
    "validate",
    "voting_patterns",
]

__getattr__ = renamed("sumwise.ecological", {"findings": "voting_patterns", "Findings": "VotingPatterns"})
