"""Rows to containers: one plan, many engines."""

from sumwise.aggregate.bagging import aggregate_bags
from sumwise.aggregate.plan import CountPlan
from sumwise.aggregate.run import aggregate, aggregate_margins, fit_encoding, run

__all__ = ["CountPlan", "aggregate", "aggregate_bags", "aggregate_margins", "fit_encoding", "run"]
