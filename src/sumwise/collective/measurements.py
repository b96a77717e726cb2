"""Measurements as users of marginal-based inference have them, as `Tables`."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise import checks
from sumwise.domain import Domain
from sumwise.errors import DataError
from sumwise.noise import Gaussian
from sumwise.table import Table
from sumwise.tables import Tables


def tables_from_measurements(measurements: Any, domain: Any, n: float | None = None) -> Tables:
    """Return noisy marginals (y, clique, standard deviation) as `Tables` with Gaussian noise.

    Parameters
    ----------
    measurements : sequence
        Triples ``(y, clique, stddev)``, or objects with ``noisy_measurement``, ``clique`` and ``stddev``, as `mbi` has
        them. y is flat, in C order of the clique's attributes, or has their shape.
    domain : Domain or mapping of attribute to size
    n : float, optional
        Size of the population, if it is known.

    Examples
    --------
    >>> from sumwise.collective import tables_from_measurements
    >>> seen = tables_from_measurements([([3.1, 0.8, 2.2, 4.0], ("a", "b"), 1.5)], {"a": 2, "b": 2}, n=10)
    >>> seen["a", "b"].counts[1, 0], float(seen["a", "b"].noise.scale)
    (np.float64(2.2), 1.5)
    """
    space = domain if isinstance(domain, Domain) else Domain(domain)
    made = [_table(m, k, space) for k, m in enumerate(checks.listing(measurements, "measurements"))]
    if not made:
        raise DataError("There are no measurements.")
    return Tables(made, space, n=n)


def _table(given: Any, k: int, space: Domain) -> Table:
    if hasattr(given, "noisy_measurement"):
        given = (given.noisy_measurement, given.clique, given.stddev)
    if not isinstance(given, (tuple, list)) or len(given) != 3:
        raise DataError(f"Measurement {k} isn't a triple (y, clique, stddev).", hint="see the docstring's example.")
    y, clique, stddev = given
    attributes = (clique,) if isinstance(clique, str) else tuple(clique)
    for a in attributes:
        checks.known(a, space, "attribute")
    shape = tuple(space[a] for a in attributes)
    values = checks.finite(y, f"measurement {k}")
    if values.size != np.prod(shape, dtype=int):
        raise DataError(
            f"Measurement {k} of {' x '.join(attributes)} has {values.size} values; "
            f"its table has {int(np.prod(shape))} cells."
        )
    scale = checks.positive(stddev, f"the standard deviation of measurement {k}", ndim=0)
    return Table(attributes, values.reshape(shape), noise=Gaussian(float(scale)))
