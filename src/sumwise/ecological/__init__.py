"""Estimators on Margins: the cells behind row and column totals."""

from sumwise.ecological.bounds import Bounds
from sumwise.ecological.em import EcologicalEM
from sumwise.ecological.findings import Findings, findings
from sumwise.ecological.goodman import Goodman
from sumwise.ecological.identification import doubts
from sumwise.ecological.king import King
from sumwise.ecological.multinomial_dirichlet import MultinomialDirichlet
from sumwise.ecological.validation import Validation, error_index, validate

__all__ = [
    "Bounds",
    "EcologicalEM",
    "Findings",
    "Goodman",
    "King",
    "MultinomialDirichlet",
    "Validation",
    "doubts",
    "error_index",
    "findings",
    "validate",
]
