"""How many bags are enough?

Error on new bags as the number of training bags grows, against the best possible error.
"""

import matplotlib.pyplot as plt
import numpy as np

from sumwise import synthetic
from sumwise.distribution import BagRidge, MomentEmbedding

plt.style.use("sumwise.plots.sumwise")
data = synthetic.gamma(300, 40, noise=0.0, random_state=0)
new, truth = data.bags[200:], data.response[200:]
sizes, wrong = [20, 40, 80, 120, 200], []
for n in sizes:
    model = BagRidge(MomentEmbedding()).fit(data.bags[:n], data.response[:n])
    wrong.append(np.mean((model.predict(new) - truth) ** 2))
fig, ax = plt.subplots(figsize=(5.5, 4))
ax.plot(sizes, wrong, "o-", label="ridge on moments")
ax.axhline(np.mean((data.bayes()[200:] - truth) ** 2), color="#D55E00", linestyle="--", label="best possible")
ax.set(xlabel="training bags", ylabel="mean squared error", ylim=(0, None))
ax.legend()
