"""What a kernel between bags sees: the mean

Similarity of a normal bag to the standard normal one as its mean moves. The two Wasserstein
kernels coincide on normal bags.
"""

from sumwise.diagnostics import similarity_numbers
from sumwise.distribution import GaussianKernel, GaussianW2Kernel, WassersteinKernel
from sumwise.plots import plot_similarity

kernels = {"Wasserstein": WassersteinKernel(), "Gaussian W2": GaussianW2Kernel(), "Gaussian": GaussianKernel()}
plot_similarity(similarity_numbers(kernels, n_rows=60), "mean")
