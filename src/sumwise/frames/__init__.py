"""Any data frame in: what is read from pandas, polars and pyarrow frames, and how each container is built from one."""

from sumwise.frames.conversion import (
    by_names,
    codes_and_levels,
    column_names,
    column_values,
    in_one_order,
    is_frame,
    numeric,
    scalars_only,
    to_pandas,
    unnamed,
)

__all__ = [
    "by_names",
    "codes_and_levels",
    "column_names",
    "column_values",
    "in_one_order",
    "is_frame",
    "numeric",
    "scalars_only",
    "to_pandas",
    "unnamed",
]
