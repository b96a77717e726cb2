"""What reports on ecological inference say about methods, intervals and assumptions, whatever the data."""

from __future__ import annotations

SHARES = dict.fromkeys(("share", "low", "high", "lower bound", "upper bound"), "share") | {"count": "count"}
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
CALIBRATION = (
    "Intervals of EcologicalEM allow for sampling error and for model error, whose size was estimated on real "
    "elections. Its few tuning constants were chosen on 176 contests of three elections with known results; on 210 "
    "contests of three other elections, 95% intervals covered 97.3% of the true cells. Tables of few groups and "
    "outcomes have wider intervals, by what the same contests show when groups and outcomes are merged, and so have "
    "units that vary more than theirs. The coverage carries over to these data only as far as they resemble those "
    "contests. The intervals assume that behaviour depends on the composition of units no more strongly than it did "
    "there: in simulated contests where it did, in a way that totals hardly show, they covered 79% of the true cells."
)
CURVED = (
    "On real contests where the same test rejected, its 95% intervals covered 97% of the true cells; in simulated ones "
    "with stronger dependence, 79%."
)
VARIED = (
    "These units vary more than those of the contests that the intervals were calibrated on (overdispersion {rho:.3f}, "
    "and at most 0.018 there), as they do where something that goes with composition moves all groups: the intervals "
    "are {factor:.1f} times as wide as they would be otherwise. Covariates that explain the variation narrow them."
)
FEW_UNITS = (
    "{units} with these compositions hardly identify the shares of groups: the intervals are {factor:.1f} times as "
    "wide as they would be with more units, or with units that differ more in composition."
)
COVARIATES = (
    "With covariates, intervals allow for less model error. On contests with known cells whose merged groups' "
    "composition served as covariates, of elections that the allowance was not chosen on, they covered 99.2% of the "
    "true cells. Where covariates explain all dependence on composition, they are wider than need be; "
    "EcologicalEM(calibrated=False) leaves the allowance out, on that assumption."
)
ROW_ERROR = {
    "classical": (
        "The counts by group carry a stated error (row_sd), taken as classical: the truth plus noise. Estimates were "
        "fitted to the expected counts given the observed ones (regression calibration), and intervals include the "
        "error. If the truth instead varies around the counts, as around sums of voters' probabilities, the "
        "correction overstates differences between groups; EcologicalEM(row_error='berkson') leaves it out."
    ),
    "berkson": (
        "The counts by group carry a stated error (row_sd), taken as Berkson error: the truth varies around the "
        "counts. Estimates are not corrected for it, and intervals include it. If the counts instead are the truth "
        "plus noise, differences between groups are understated; EcologicalEM(row_error='classical') corrects that."
    ),
    "uncorrected": (
        "The counts by group carry a stated error (row_sd). Estimates are not corrected for it, so differences "
        "between groups may be understated; intervals include that."
    ),
}
MODEL_ONLY = (
    "These intervals are not calibrated: they allow for chance if the model of {method} is right, and for nothing "
    "else. On files whose true cells are known, the 95% intervals of King and of Goodman missed many of them. "
    "EcologicalEM has intervals that allow for model error."
)
ASSUMED = {
    "EcologicalEM": [
        "Units are independent of each other, given what all units share.",
        "Each group's outcome shares vary around a common mean from unit to unit, independently of composition.",
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
        "Posterior standard deviations are widened by a factor that was chosen on real elections.",
    ],
    "Goodman": [
        "Each group's outcome shares are the same in all units, or vary independently of composition.",
        "The regression does not keep estimates between 0 and 1, and cells need not add up to a unit's totals.",
        "Intervals allow for sampling error only.",
    ],
    "Bounds": [
        "None beyond correct totals: the bounds hold however people behaved. Where they are wide, the data say little."
    ],
}
RISKS = [
    "Aggregation bias: a group may behave differently where it is concentrated. Totals need not show it. The bounds "
    "hold regardless.",
    "Mismatched populations: people counted among the groups but not among the outcomes (residents and voters, for "
    "instance). Every share is a share of the population named below.",
    "Totals of the two sides that come from different years or boundaries.",
    "Few units, or units of similar composition: the assumptions then drive the estimates more than the data do.",
]
