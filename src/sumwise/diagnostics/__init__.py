"""The numbers behind every figure, one file per family; figures only draw them."""

from sumwise.diagnostics.course import course
from sumwise.diagnostics.ecological import (
    contextual,
    interval_numbers,
    method_numbers,
    polarisation_numbers,
    share_density,
    tomography,
    unit_scatter,
)

__all__ = [
    "contextual",
    "course",
    "interval_numbers",
    "method_numbers",
    "polarisation_numbers",
    "share_density",
    "tomography",
    "unit_scatter",
]
