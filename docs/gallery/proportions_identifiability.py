"""Which effects can these bags estimate?

Standard errors from counts alone, against the share of each feature's variance that lies between bags.
"""

import matplotlib.pyplot as plt

from sumwise import synthetic
from sumwise.proportions import identifiability

plt.style.use("sumwise.plots.sumwise")
bags = synthetic.election(60, 40, mean_weight=1, weight_spread=0, random_state=0).bags
found = identifiability(bags, warn=False).to_frame()
fig, ax = plt.subplots(figsize=(5.5, 4))
for answerable, part in found.groupby("answerable"):
    ax.scatter(part["between"], part["standard_error"], label="can be estimated" if answerable else "cannot")
ax.axhline(1.0, color="#9a9a9a", linestyle="--")
ax.set(xlabel="share of variance between bags", ylabel="standard error (logits)", xscale="log", yscale="log")
ax.legend()
