"""One file per family: how its problem is read, fitted and predicted from; to add a family, add a file.

The file ``families/NAME.py`` defines ``STUDY``, a class that derives from `sumwise.cli.study.families.base.Study`.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from sumwise import checks

__all__ = ["FAMILIES", "study_class", "study_of"]

FAMILIES = tuple(sorted(found.name for found in pkgutil.iter_modules(__path__) if found.name != "base"))
"""The families that a problem file may name."""


def study_class(family: str) -> Any:
    """The class of a family's studies.

    Examples
    --------
    >>> from sumwise.cli.study.families import study_class
    >>> study_class("ecological").family
    'ecological'
    """
    return importlib.import_module(f"sumwise.cli.study.families.{family}").STUDY


def study_of(problem: Any, work: Any = None) -> Any:
    """The study that a problem asks for.

    Examples
    --------
    >>> from sumwise.cli.study import Problem, study_of
    >>> study_of(Problem.parse('family = "ecologcal"'))
    Traceback (most recent call last):
    sumwise.errors.UnknownName: problem, line 1: There is no family 'ecologcal'. Hint: did you mean 'ecological'?
    """
    with problem.blamed(("family",)):
        checks.known(problem.family, FAMILIES, "family")
    return study_class(problem.family)(problem, work)
