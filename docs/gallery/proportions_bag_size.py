"""What aggregation costs: error against bag size

The same 2,400 individuals in ever larger bags.
"""

import matplotlib.pyplot as plt
import numpy as np

from sumwise import Bags
from sumwise.proportions import CardinalityClassifier

plt.style.use("sumwise.plots.sumwise")
rng = np.random.default_rng(0)
x = rng.normal(size=(2400, 3)) + np.repeat(rng.normal(size=(60, 3)), 40, axis=0)
y = rng.random(2400) < 1 / (1 + np.exp(-x @ [1.5, -1.0, 0.5]))
sizes, wrong = [1, 2, 5, 10, 20, 40, 80], []
for size in sizes:
    bags, counts = Bags(x, np.arange(0, 2401, size)), y.reshape(-1, size).sum(axis=1)
    wrong.append(
        np.abs(CardinalityClassifier(penalty=0.1).fit(bags, counts).coef_.ravel()[:3] - [1.5, -1.0, 0.5]).mean()
    )
fig, ax = plt.subplots(figsize=(5.5, 4))
ax.plot(sizes, wrong, "o-")
ax.set(xscale="log", xlabel="individuals per bag", ylabel="mean error of a coefficient", ylim=(0, None))
