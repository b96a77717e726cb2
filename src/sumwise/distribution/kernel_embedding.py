"""KernelEmbedding: a bag kernel as an embedding, through similarities to landmark bags (Nyström)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.bags import Bags
from sumwise.distribution.bag_kernel import BagKernel
from sumwise.distribution.columns import check_bags
from sumwise.distribution.embedding import Embedding, seeded
from sumwise.distribution.wasserstein import fresh_kernel
from sumwise.features import name_columns
from sumwise.inference.canonical import content_sorted


@dataclass(eq=False, repr=False)
class KernelEmbedding(Embedding):
    """Vectors whose inner products are a bag kernel's similarities, exact on the landmark bags.

    Makes any kernel usable where an embedding is: in `BagLogistic` for kernel logistic regression, in `BagRidge`.

    Parameters
    ----------
    kernel : BagKernel, default WassersteinKernel(spread=True, extra_slices=10)
    n_landmarks : int >= 1, default 1000
        Training bags that others are compared with, drawn at random; all where there are fewer.
    width : float > 0, default 1.0
        Multiple of the kernel's gamma, for kernels that have a width.
    random_state : int, numpy.random.Generator or None, default None
        None is the seed of the estimator that this is part of, else 0.

    See Also
    --------
    EmbeddingKernel : A Gaussian, Laplacian or linear kernel on an embedding of bags.
    FourierEmbedding : Mean random Fourier features: the kernel mean embedding of a Gaussian kernel, at several widths
        at once.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import synthetic
    >>> from sumwise.distribution import KernelEmbedding, WassersteinKernel
    >>> bags = synthetic.gamma(10, 50, random_state=0).bags
    >>> vectors = KernelEmbedding(WassersteinKernel()).fit_transform(bags)
    >>> bool(np.allclose(vectors @ vectors.T, WassersteinKernel().fit(bags).gram(bags), atol=1e-6))
    True
    """

    _learned = "kernel_: is BagKernel; landmarks_: float m p; root_: float m *"

    ends_with_shares = False

    kernel: BagKernel | None = None
    n_landmarks: int = 1000
    width: float = field(default=1.0, kw_only=True)
    random_state: Any = None

    def fit(self, bags: Bags, y: Any = None) -> Any:
        """Choose landmarks among training bags; the response is not used."""
        del y
        checks.at_least(self.n_landmarks, "n_landmarks", 1)
        rng, bags = seeded(self.random_state), check_bags(bags, least=2)
        self.kernel_ = fresh_kernel(self.kernel, self.random_state)
        kept = self.kernel_.fit_represent(content_sorted(bags)[0])
        self.kernel_.gamma_ *= float(checks.positive(self.width, "width", ndim=0))
        self.columns_ = self.kernel_.columns_
        name_columns(self, bags)
        n = len(bags)
        chosen = np.sort(rng.choice(n, self.n_landmarks, replace=False)) if n > self.n_landmarks else np.arange(n)
        self.landmarks_ = kept[chosen]
        squares, vectors = np.linalg.eigh(self._similar(self.landmarks_))
        good = squares > 1e-10 * squares[-1]
        self.root_ = vectors[:, good] / np.sqrt(squares[good])
        return self

    def _similar(self, kept: Any) -> np.ndarray:
        return self.kernel_.compare(kept, self.landmarks_)

    def vectors(self, bags: Bags) -> np.ndarray:
        """Return one vector per bag, (n_bags, number of landmarks or fewer)."""
        self._fitted("root_")
        return self._similar(self.kernel_.represent(self.columns_.check(bags))) @ self.root_
