"""CountLoss: the exact likelihood of bags' counts as a loss of torch, for any network of individuals."""

from __future__ import annotations

from typing import Any

import numpy as np

from sumwise.bags import Bags
from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.proportions.counts import Observed, observe
from sumwise.proportions.kernels.poisson_binomial_device import count_posterior_device
from sumwise.proportions.likelihood import BagLikelihood


class CountLoss:
    """Mean over bags of minus the log-probability of their class counts, given the logits of their members.

    The counts of a bag have the Poisson binomial distribution, or for several classes the Poisson multinomial one; the
    gradient in the logits is prior minus posterior probability of each label. On the CPU both come from exact kernels.
    On a GPU counts of two classes are computed there; counts of more classes are computed on the CPU.

    Parameters
    ----------
    noise : Noise, optional
        How observed counts of class 1 differ from the true ones; computed on the CPU.

    Examples
    --------
    >>> import torch
    >>> from sumwise.proportions import CountLoss
    >>> logits = torch.zeros(5, requires_grad=True)
    >>> loss = CountLoss()(logits, counts=[1, 3], sizes=[2, 3])
    >>> loss.backward()
    >>> round(loss.item(), 3), logits.grad[2:].tolist()  # the log-odds of the second bag's members should rise
    (1.386, [-0.25, -0.25, -0.25])
    """

    def __init__(self, noise: Any = None):
        self.noise = noise

    def __call__(self, logits: Any, counts: Any, sizes: Any) -> Any:
        """The loss, a tensor with one number.

        Parameters
        ----------
        logits : tensor of shape (n_rows,) or (n_rows, 1) of class 1, or (n_rows, n_classes)
            Bag after bag.
        counts : array or tensor of shape (n_bags,) of class 1, or (n_bags, n_classes)
        sizes : integer array or tensor of shape (n_bags,)
            Rows of each bag.
        """
        plain = [x.detach().cpu().numpy() if hasattr(x, "detach") else np.asarray(x) for x in (counts, sizes)]
        offsets = np.concatenate([[0], np.cumsum(plain[1].astype(np.int64))])
        if offsets[-1] != len(logits):
            raise DataError(
                f"sizes add up to {offsets[-1]} rows; logits has {len(logits)}.",
                hint="give the logits of all members, bag after bag.",
            )
        observed = observe(Bags(np.zeros((offsets[-1], 1)), offsets), plain[0], self.noise)
        return self.of(logits, BagLikelihood(offsets, observed))

    def __repr__(self) -> str:
        return "CountLoss()" if self.noise is None else f"CountLoss(noise={self.noise!r})"

    def _repr_html_(self) -> str:
        return f"<code>{self!r}</code>"

    @staticmethod
    def of(logits: Any, likelihood: BagLikelihood) -> Any:
        """The loss under a likelihood of bags, each counted by its power."""
        flat = logits[:, 0] if logits.ndim == 2 and logits.shape[1] == 1 else logits
        n_classes = likelihood.observed.n_classes
        wanted = () if n_classes == 2 else (n_classes,)
        if tuple(flat.shape[1:]) != wanted:
            raise DataError(
                f"logits has shape {tuple(logits.shape)} for counts of {n_classes} classes.",
                hint="one logit per row for two classes, else one per class.",
            )
        torch = require("torch")
        on_device = logits.device.type != "cpu" and wanted == () and _plain(likelihood.observed)
        return _exact_loss(torch).apply(flat, likelihood, on_device)


def _plain(observed: Observed) -> bool:
    """Whether counts are exact and every row is one member."""
    return observed.exact and observed.multiplicity is None


def _exact_loss(torch: Any) -> Any:
    """The autograd function, made where torch is there."""
    if "function" in _MADE:
        return _MADE["function"]

    class ExactLoss(torch.autograd.Function):
        """Value and gradient by the kernels, in double precision."""

        @staticmethod
        def forward(ctx: Any, logits: Any, likelihood: BagLikelihood, on_device: bool) -> Any:
            if on_device:
                total, residual = _on_device(torch, logits.detach().double(), likelihood)
            else:
                value = likelihood.evaluate(logits.detach().cpu().numpy().astype(np.float64))
                total, residual = likelihood.total_and_residual(value)
            n = max(float(likelihood.powers.sum()), 1e-300)
            ctx.save_for_backward(torch.as_tensor(-residual / n, dtype=logits.dtype, device=logits.device))
            return torch.as_tensor(-total / n, dtype=logits.dtype, device=logits.device)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> tuple:
            return gradients[0] * ctx.saved_tensors[0], None, None

    _MADE["function"] = ExactLoss
    return ExactLoss


_MADE: dict[str, Any] = {}


def _on_device(torch: Any, logits: Any, likelihood: BagLikelihood) -> tuple[Any, Any]:
    """Log-likelihood, and posterior less prior probabilities, of exact counts of two classes where the logits are."""
    offsets, observations = likelihood.offsets, likelihood.observed.observations
    assert observations is not None
    offsets, counts, powers = (
        torch.as_tensor(np.asarray(x), device=logits.device)
        for x in (offsets, observations.low.astype(np.int64), likelihood.powers)
    )
    log_prob, posterior = count_posterior_device(logits, offsets, counts)
    rows = torch.repeat_interleave(powers, offsets.diff(), output_size=len(logits))
    return (powers * log_prob).sum(), rows * (posterior - torch.sigmoid(logits))
