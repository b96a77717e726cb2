"""MixBag: the proportion-loss network on bags mixed from two, within their confidence intervals (needs torch)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from sumwise import checks
from sumwise.bags import Bags
from sumwise.proportions.share_network import ProportionLossNetwork


def mixed_interval(shares, sizes, drawn, confidence=0.95):
    """Class shares of a bag of ``drawn`` members from each of several bags: their centre and half-width.

    Drawing k of n members without replacement gives class c a share of mean s and variance
    s (1 - s) (n - k) / (k (n - 1)).

    Parameters
    ----------
    shares : (n_parts, n_classes) array
    sizes, drawn : (n_parts,) arrays
    confidence : float in (0, 1)

    Returns
    -------
    (n_classes,) arrays centre and half-width

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.proportions.mixbag import mixed_interval
    >>> mixed_interval(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([10, 4]), np.array([10, 2]))
    (array([0.583..., 0.416...]), array([0., 0.]))
    """
    centre = drawn @ shares / drawn.sum()
    spread = shares * (1.0 - shares) * (drawn * (sizes - drawn) / np.maximum(sizes - 1, 1))[:, None]
    return centre, norm.ppf(0.5 + confidence / 2.0) * np.sqrt(spread.sum(axis=0)) / drawn.sum()


def interval_loss(means, centre, width):
    """Cross-entropy of mixed bags: a class whose mean probability lies inside its interval adds nothing.

    Tensors of shape (n_bags, n_classes); one loss per bag.
    """
    outside = (means.detach() - centre).abs() > width
    return -(outside * centre * means.log()).sum(dim=1)


@dataclass(eq=False, repr=False)
class MixBag(ProportionLossNetwork):
    """MixBag (Asanomi et al. 2023): the proportion-loss network, with bags mixed from two as further examples.

    At each step every bag is also mixed with another: a random part of each makes a new bag. Its shares are known up
    to a confidence interval: a class whose mean probability lies inside adds nothing to the loss, one outside the
    cross-entropy with the middle of its interval.

    Parameters
    ----------
    hidden : tuple of int, default (64,)
    confidence : float in (0, 1), default 0.95
        Level of the interval for the shares of a mixed bag.
    weight_decay, learning_rate, batch_bags, max_epochs, patience, held_out, totals, device, verbose, random_state :
        As in `ProportionLossNetwork`.

    Attributes
    ----------
    weights_ : list of arrays, weights and biases.
    n_epochs_ : int
    fit_ : Fit, with the held-out loss per epoch.

    See Also
    --------
    ProportionLossNetwork : The proportion-loss network (DLLP, Ardehaly and Culotta 2017): cross-entropy of shares and
        mean probabilities.
    CardinalityNetwork : Neural classifier of individuals, trained by exact maximum likelihood from class counts per
        bag.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import Bags
    >>> from sumwise.proportions import MixBag
    >>> rng = np.random.default_rng(0)
    >>> bags = Bags(rng.normal(size=(300, 2)), np.arange(0, 301, 5))
    >>> counts = (np.abs(bags.values[:, 0]) > 0.7).reshape(60, 5).sum(axis=1)
    >>> MixBag(learning_rate=0.05, patience=2).fit(bags, counts).predict_proba(bags.values).shape
    (300, 2)
    """

    _: KW_ONLY
    confidence: float = 0.95

    def fit(self, bags: Bags, counts: Any, sample_weight: Any = None) -> MixBag:
        """Fit to bags and their counts; a mixed bag has the weight of the first of its two."""
        checks.fraction(self.confidence, "confidence")
        return super().fit(bags, counts, sample_weight)

    def batch_loss(self, run, params, which):
        rows, index, centre, width = self._mix(run, which)
        means = run.mean_probabilities(params, rows, index, len(which))
        centre, width = (run.torch.as_tensor(a, dtype=means.dtype, device=means.device) for a in (centre, width))
        return super().batch_loss(run, params, which) + run.mean_over(which, interval_loss(means, centre, width))

    def _mix(self, run, which):
        """A part of each bag with a part of another: rows, position, centre and half-width of shares."""
        data, rng = run.data, run.rng
        rows, index, centres, widths = [], [], [], []
        for place, b in enumerate(which):
            pair = np.array([b, rng.integers(data.n_bags)])
            sizes, cut = data.sizes[pair], rng.random()
            drawn = np.maximum(np.rint(sizes * np.array([cut, 1.0 - cut])), 1).astype(int)
            for part, k in zip(pair, drawn):
                rows.append(run.edges[part] + rng.permutation(data.sizes[part])[:k])
            index.append(np.full(drawn.sum(), place))
            centre, width = mixed_interval(data.shares[pair], sizes, drawn, self.confidence)
            centres.append(centre)
            widths.append(width)
        return np.concatenate(rows), np.concatenate(index), np.array(centres), np.array(widths)
