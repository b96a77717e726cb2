"""Tables to differentially private tables."""

from sumwise.privacy.budget import Budget
from sumwise.privacy.private_levels import private_encoding
from sumwise.privacy.release import PersonBounds, ReleasePlan, plan_release, release
from sumwise.privacy.selection import release_selected

__all__ = ["Budget", "PersonBounds", "ReleasePlan", "plan_release", "private_encoding", "release", "release_selected"]
