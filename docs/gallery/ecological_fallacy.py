"""The ecological fallacy: the line across units has the wrong sign

Within every unit (short grey lines) group A is less likely to say yes; across units the share of yes rises with A.
"""

import matplotlib.pyplot as plt
import numpy as np

from sumwise import synthetic

plt.style.use("sumwise.plots.sumwise")
rates = [[0.30, 0.70], [0.45, 0.55]]  # of groups A and B, where the confounder is zero
shape = {"segregation": 0.3, "heterogeneity": 0.0, "bias": 0.9, "confounding": 0.95}
data = synthetic.precincts(40, base_shares=rates, **shape, random_state=0)
x, y = data.margins.rows[:, 0] / data.margins.totals, data.margins.cols[:, 0] / data.margins.totals
fig, ax = plt.subplots(figsize=(5.5, 4.5))
slope = data.probabilities[:, 0, 0] - data.probabilities[:, 1, 0]  # A less B, in each unit
ax.plot([x - 0.04, x + 0.04], [y - 0.04 * slope, y + 0.04 * slope], color="#9a9a9a")
ax.scatter(x, y, s=18, zorder=3)
ax.axline((0, np.polyfit(x, y, 1)[1]), slope=np.polyfit(x, y, 1)[0], color="#D55E00", label="across units")
ax.set(xlabel="share of group A", ylabel="share of yes", xlim=(-0.03, 1.03))
ax.legend()
