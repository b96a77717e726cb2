"""What each column of a source is: the only road from a file or a frame to a container."""

from sumwise.schema.declared import Schema
from sumwise.schema.questions import Question, Unanswered

__all__ = ["Question", "Schema", "Unanswered"]
