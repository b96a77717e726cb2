"""What reports on ecological inference say about methods, intervals and assumptions, whatever the data."""

from __future__ import annotations

SHARES = dict.fromkeys(("share", "low", "high", "lower bound", "upper bound", "if a fifth", "place-only"), "share")
SHARES |= {"count": "count"}
BOUNDS = {"lower_bound": "lower bound", "upper_bound": "upper bound"}
POOLING = {
    "alone": "The contest was fitted with others, and borrowed nothing from them.",
    "pooled": (
        "The contest was fitted with others of its election and borrows from them, to the degree that best predicts "
        "held-out units."
    ),
    "pooled and corrected": (
        "The contest was fitted with others of its election and borrows from them. The estimates were then corrected "
        "by what was learned on elections in New Zealand and Scotland whose split votes were counted, because these "
        "contests look like those; EcologicalEM(correction=False) leaves this out."
    ),
}
CONTEXT = (
    "Intervals allow for chance and for contextual effects: groups that behave differently in places of different "
    "composition, which totals hardly show. How strong such effects are is taken from 386 contests in New Zealand and "
    "Scotland whose cells were counted, and more where outcomes are curved in composition: here, the support of a "
    "group for an outcome that half of it prefers is taken to differ by about {points:.0f} points (one standard "
    "deviation) between places with none and all of a group."
)
COVERED = (
    "On those contests, each election left out in turn, 95% intervals covered 95.9% of the true cells; in simulated "
    "contests with slopes of 0.5 they covered 88% where groups differ in them and 62% where a place moves all of "
    "its groups alike, which totals can't show."
)
ROW_ERROR = {
    "classical": (
        "The counts by group carry a stated error (standard or margin of error), taken as classical: the truth plus "
        "noise. Estimates were "
        "fitted to the expected counts given the observed ones (regression calibration), and intervals include the "
        "error. If the truth instead varies around the counts, as around sums of voters' probabilities, the "
        "correction overstates differences between groups; EcologicalEM(row_error='berkson') leaves it out."
    ),
    "berkson": (
        "The counts by group carry a stated error (standard or margin of error), taken as Berkson error: the truth "
        "varies around the "
        "counts. Estimates are not corrected for it, and intervals include it. If the counts instead are the truth "
        "plus noise, differences between groups are understated; EcologicalEM(row_error='classical') corrects that."
    ),
    "uncorrected": (
        "The counts by group carry a stated error (standard or margin of error). Estimates are not corrected for it, "
        "so differences "
        "between groups may be understated; intervals include that."
    ),
}
MODEL_ONLY = (
    "These intervals allow for chance if the model of {method} is right, and for nothing else; so do probabilities."
    "{measured} EcologicalEM has intervals that allow for groups that behave differently from place to place."
)
MEASURED = " On {tables} tables whose cells are known, 95% intervals of {method} covered {share} of the cells."
KNOWN_TABLES, MEASURED_SHARES = 46, {"MultinomialDirichlet": "97%", "Goodman": "84%", "King": "75%"}


def model_only(method: str) -> str:
    """What intervals leave out, and how often those of the method covered the truth where it is known."""
    share = MEASURED_SHARES.get(method)
    measured = "" if share is None else MEASURED.format(tables=KNOWN_TABLES, method=method, share=share)
    if method == "King":
        measured += " On contests alone, without tables of census areas, they covered 58% to 78%."
    return MODEL_ONLY.format(method=method, measured=measured)


ASSUMED = {
    "EcologicalEM": [
        "Units are independent of each other, given what all units share.",
        "Each group's outcome shares vary around a common mean from unit to unit; how they vary with composition has a "
        "prior from real contests, which intervals include.",
        "Estimates are adjusted for the tendency of such fits to understate differences between groups; the size of "
        "the adjustment was chosen on real elections.",
    ],
    "King": [
        "The shares of a unit are draws from one truncated normal distribution (given covariates, if any).",
        "They do not depend on the unit's composition beyond the covariates (no aggregation bias).",
        "Units are independent, given these.",
    ],
    "MultinomialDirichlet": [
        "The outcome shares of each group in a unit are draws from one Dirichlet distribution per group.",
        "They do not depend on the unit's composition (no aggregation bias).",
        "Intervals are the posterior's own: they take the model as true.",
    ],
    "Goodman": [
        "Each group's outcome shares are the same in all units, or vary independently of composition.",
        "The regression does not keep estimates between 0 and 1, and cells need not add up to a unit's totals.",
        "Intervals allow for sampling error only.",
    ],
    "Bounds": [
        "None beyond correct totals: the bounds are true however people behaved. If they are wide, the data say little."
    ],
}
UNCERTAIN_GROUPS = (
    "The counts by group are estimates with stated errors. What is said to follow from the totals alone takes these "
    "counts as exact."
)
BIAS = "Aggregation bias: a group may behave differently where it is concentrated. Totals need not show it. "
CERTAIN, AS_COUNTED = "The bounds are true regardless.", "The bounds need no model, but take the counts as exact."
RISKS = [
    "Mismatched populations: people counted among the groups but not among the outcomes (residents and voters, for "
    "instance). Every share is a share of the population named below.",
    "Totals of the two sides that come from different years or boundaries.",
    "Few units, or units of similar composition: the assumptions then drive the estimates more than the data do.",
]
