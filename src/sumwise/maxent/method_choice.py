"""Which method to use on tables with label sums by default."""

from __future__ import annotations

from sumwise.tables import Tables


def default_method(tables: Tables) -> tuple[str, str]:
    """Return the name of the estimator that `sumwise.advise` and ``sumwise fit`` use on these tables, and why.

    Parameters
    ----------
    tables : Tables

    Returns
    -------
    method : str
        ``"MaxEntClassifier"``; ``"MaxEntRegressor"`` where the label sums are of an amount.
    why : str

    Examples
    --------
    >>> from sumwise import synthetic
    >>> from sumwise.maxent import default_method
    >>> default_method(synthetic.xor(400, random_state=0).tables)[0]
    'MaxEntClassifier'
    """
    if tables.provenance.amount is not None:
        return "MaxEntRegressor", "It agrees with the sums of all tables at once, as a regression on the rows would."
    return "MaxEntClassifier", "It agrees with all tables at once, as a logistic regression on the rows would."
