"""The price of privacy: error of a count against epsilon

Standard deviation of a released count under the geometric mechanism, for sensitivities of one and four.
"""

import matplotlib.pyplot as plt
import numpy as np

plt.style.use("sumwise.plots.sumwise")
epsilon = np.geomspace(0.05, 5, 40)
fig, ax = plt.subplots(figsize=(5.5, 4))
for sensitivity in (1, 4):
    ratio = np.exp(-epsilon / sensitivity)
    ax.plot(epsilon, np.sqrt(2 * ratio) / (1 - ratio), label=f"sensitivity {sensitivity}")
ax.set(xscale="log", yscale="log", xlabel="epsilon", ylabel="standard deviation of a count")
ax.legend()
