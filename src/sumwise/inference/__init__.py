"""What families share when evidence becomes an answer: averages by held-out likelihood, words of certainty."""

from sumwise.inference.averaging import average_draws, average_weights
from sumwise.inference.certainty import certainty

__all__ = ["average_draws", "average_weights", "certainty"]
