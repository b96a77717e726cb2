"""Classifiers from one flat dict of settings, as parametrised tests of the family write them."""

from sumwise.maxent import MaxEntClassifier, SolverOptions

OPTIONS = set(SolverOptions.__dataclass_fields__)


def classifier(*penalties, **settings):
    """Settings that are solver options go where they belong."""
    options = {k: settings.pop(k) for k in list(settings) if k in OPTIONS}
    return MaxEntClassifier(*penalties, options=SolverOptions(**options) if options else None, **settings)
