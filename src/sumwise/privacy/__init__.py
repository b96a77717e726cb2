"""Tables to differentially private tables."""

from sumwise.privacy.budget import Budget
from sumwise.privacy.geography import consistent_counts
from sumwise.privacy.private_levels import private_encoding
from sumwise.privacy.release import PersonBounds, plan_release, release
from sumwise.privacy.release_rows import release_rows

__all__ = [
    "Budget",
    "PersonBounds",
    "consistent_counts",
    "plan_release",
    "private_encoding",
    "release",
    "release_rows",
]
