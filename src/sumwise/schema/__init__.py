"""What each column of a source is: the only road from a file or a frame to a container."""

from sumwise.schema.declared import Schema
from sumwise.schema.problem import Problem
from sumwise.schema.questions import NAME, STOP, Interview, Question, Unanswered

__all__ = ["NAME", "STOP", "Interview", "Problem", "Question", "Schema", "Unanswered"]
