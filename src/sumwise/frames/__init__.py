"""Any data frame in: what is read from pandas, polars and pyarrow frames, and how each container is built from one."""

from sumwise.frames.conversion import (
    codes_and_levels,
    column_names,
    column_values,
    is_frame,
    numeric,
    scalars_only,
    to_pandas,
)

__all__ = ["codes_and_levels", "column_names", "column_values", "is_frame", "numeric", "scalars_only", "to_pandas"]
