"""Point clouds and what they are

Two of the bags of `synthetic.shapes`: each is one observation, and the surface is its class.
"""

import matplotlib.pyplot as plt

from sumwise import synthetic

plt.style.use("sumwise.plots.sumwise")
data = synthetic.shapes(2, 300, classes=["torus", "box"], random_state=0)
fig, axes = plt.subplots(1, 2, figsize=(7, 3.5), subplot_kw={"projection": "3d"})
for ax, cloud, label in zip(axes, data.bags, data.labels):
    ax.scatter(*cloud.T, s=4)
    ax.set(title=data.classes[label], xticks=[], yticks=[], zticks=[])
