"""Estimator: the base of every method, with scikit-learn's conventions and units as samples."""

from __future__ import annotations

from typing import Any

from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from sumwise.display import finding_html
from sumwise.errors import SumwiseError
from sumwise.learned import check_learned

__all__ = ["Estimator"]

MOST_SHOWN = 12  # rows of what was found, in a notebook


class Estimator(BaseEstimator):
    """Base of sumwise's estimators: parameters stored untouched, `fit` learns names that end in ``_``.

    A sample is a unit (a bag, a precinct), so scikit-learn's `cross_validate` and `GridSearchCV` split by unit.
    Using an estimator before `fit` raises scikit-learn's ``NotFittedError``.

    Examples
    --------
    >>> from sumwise.estimator import Estimator
    >>> class Mean(Estimator):
    ...     def fit(self, margins):
    ...         self.mean_ = margins.col_shares.mean(axis=0)
    ...         return self
    >>> from sumwise import Margins
    >>> Mean().fit(Margins([[1, 1]], [[2, 0]])).mean_
    array([1., 0.])
    """

    _learned = ""  # what `fit` learns, in the words of `sumwise.learned.check_learned`; a subclass has more

    def _check_rebuilt(self) -> None:
        """Refuse learned parts of other kinds or sizes than `fit` gives them: a file may be forged or damaged."""
        check_learned(self, ";".join(vars(base).get("_learned", "") for base in reversed(type(self).__mro__)))

    def report(self, data: Any, **options: Any) -> Any:
        """Return the report on this fitted model and its data: what `sumwise.report.report` returns.

        Parameters
        ----------
        data : container, or tuple
            What ``fit`` was given.
        **options
            Of `sumwise.report.report`: ``truth``, ``compare``, ``title``, ``level`` and more.
        """
        from importlib import import_module  # the layers below don't import reports; the user asked for one

        return import_module("sumwise.report").report(self, data, **options)

    def plot(self, data: Any = None, ax: Any = None, **options: Any) -> Any:
        """Draw the main figure of this fitted model's report and return its axes.

        Parameters
        ----------
        data : container, or tuple, optional
            What ``fit`` was given. Without it the figure shows what the model itself holds: shares of groups, flows,
            or the largest coefficients.
        ax : matplotlib axes, optional
        **options
            Of `sumwise.report.report`.
        """
        from importlib import import_module

        return import_module("sumwise.report.model_report").plot_model(self, data, ax, **options)

    def _html_repr(self) -> str:
        """In a notebook: what was found, and scikit-learn's diagram of the parameters below it."""
        diagram = estimator_html_repr(self)
        fitted = any(name.endswith("_") and not name.startswith("_") for name in vars(self))
        try:
            finding = self.notebook_finding() if fitted else None
        except SumwiseError as error:  # such as intervals of chains that have not mixed
            finding = str(error), None
        except AttributeError:  # a fit that was interrupted has learned a part
            finding = "The fit was not finished.", None
        return diagram if finding is None else f"{finding_html(*finding, most=MOST_SHOWN)}{diagram}"

    def _repr_html_inner(self) -> str:  # this and the next as in newer scikit-learn; 1.6 does not ask _html_repr
        return self._html_repr()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        shown = {"text/plain": repr(self)}
        return {**shown, "text/html": self._html_repr()} if get_config()["display"] == "diagram" else shown

    def notebook_finding(self) -> tuple[str, Any] | None:
        """Return what the fitted model found, without its data: a sentence and a frame, or None."""
        return None

    def _fitted(self, *names: str) -> Any:
        """Return self if fitted; else raise ``NotFittedError``."""
        check_is_fitted(self, list(names) or None)
        return self


def family_of(model: Any) -> str:
    """The family of an estimator, by its module; of scikit-learn's vote of several, that of the first.

    Parameters
    ----------
    model : estimator
        Fitted or not.

    Examples
    --------
    >>> from sumwise.estimator import family_of
    >>> from sumwise.ecological import Goodman
    >>> family_of(Goodman())
    'ecological'
    """
    package, *rest = type(model).__module__.split(".")
    members = getattr(model, "estimators", None) if package == "sklearn" else None
    return family_of(members[0][1]) if members else [*rest, ""][0]
