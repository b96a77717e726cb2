"""Segregated precincts are informative

The wider the precincts spread over the horizontal axis, the narrower the bounds on the groups' shares.
"""

import matplotlib.pyplot as plt

from sumwise import synthetic
from sumwise.ecological import Bounds

plt.style.use("sumwise.plots.sumwise")
fig, ax = plt.subplots(figsize=(5.5, 4))
levels = [0.05, 0.1, 0.2, 0.4, 0.6, 0.8]
for row, name in enumerate("AB"):
    fits = [Bounds().fit(synthetic.precincts(60, segregation=s, random_state=0).margins) for s in levels]
    found = [fit.estimate() for fit in fits]
    ax.plot(levels, [e.upper_bound[row, 0] - e.lower_bound[row, 0] for e in found], "o-", label=f"group {name}")
ax.set(xlabel="segregation", ylabel="width of the bounds", ylim=(0, 1))
ax.legend()
