"""Shares of subgroups that nobody counted

Counts are known for regions; shares by sex and race are estimated, with intervals, and compared with the truth.
"""

import pandas as pd

from sumwise import synthetic
from sumwise.plots import plot_subgroups, subgroup_numbers
from sumwise.proportions import CardinalityClassifier, subgroups

data = synthetic.election(60, 40, n_categorical=2, mean_weight=1, weight_spread=0, random_state=0)
model = CardinalityClassifier().fit(data.bags, data.counts[:, 1])
rows = []
for name in ("sex", "race"):
    levels = pd.Series(data.codes[name]).map(dict(enumerate(data.levels[name])))
    found = subgroups(model, data.bags, by={name: levels}, counts=data.counts[:, 1]).to_frame()
    truth = pd.Series(data.labels).groupby(levels).mean()
    rows.append(found.assign(group=name, level=found[name], truth=found[name].map(truth)))
plot_subgroups(subgroup_numbers(pd.concat(rows), two=True))
