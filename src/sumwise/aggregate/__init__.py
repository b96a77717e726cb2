"""Rows to containers: one plan, many engines."""

from sumwise.aggregate.plan import CountPlan
from sumwise.aggregate.rows_to_bags import aggregate_bags
from sumwise.aggregate.rows_to_tables import aggregate, aggregate_margins, fit_encoding, run

__all__ = ["CountPlan", "aggregate", "aggregate_bags", "aggregate_margins", "fit_encoding", "run"]
