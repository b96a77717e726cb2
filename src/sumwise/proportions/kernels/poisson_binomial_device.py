"""Counts of two classes where the logits are, by the trapezoidal rule of `poisson_binomial_fourier`, in torch.

All bags at once: sums over the members of a bag are reductions of segments, and each frequency is one pass over rows.
Memory is a few doubles per row, whatever the sizes of bags.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise.proportions.kernels.poisson_binomial_tilt import TAIL

if TYPE_CHECKING:
    from torch import Tensor


def count_posterior_device(logits: Tensor, offsets: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probability of each bag's count, (n_bags,), and P(label = 1 | count) of each member, (n_rows,).

    Parameters
    ----------
    logits : tensor of shape (n_rows,), double
    offsets, counts : integer tensors of shape (n_bags + 1,) and (n_bags,), on the device of `logits`
    """
    torch: Any = importlib.import_module("torch")
    sizes = offsets.diff()
    bag_of = torch.repeat_interleave(torch.arange(len(sizes), device=logits.device), sizes, output_size=len(logits))

    def summed(rows: Tensor) -> Tensor:
        return torch.segment_reduce(rows, "sum", offsets=offsets, initial=0.0)

    certain = (counts == 0) | (counts == sizes)
    target = torch.where(certain, 0.5 * sizes, counts).double()
    tilt, variance = _tilt(torch, logits, offsets, bag_of, target, summed)
    chance = torch.sigmoid(logits + tilt[bag_of])
    odd_period, n_frequencies = _frequencies(torch, variance, sizes)
    spread, total, part = chance * (1.0 - chance), torch.zeros_like(variance), torch.zeros_like(logits)
    for k in range(int(n_frequencies.max()) if len(sizes) else 0):
        angle = 2.0 * np.pi * k / odd_period
        # |f_i|^2 = 1 - 4 p_i (1 - p_i) sin(w/2)^2
        real, imag = -2.0 * torch.sin(0.5 * angle) ** 2, torch.sin(angle)
        own_real, own_imag = chance * real[bag_of], chance * imag[bag_of]
        square = 2.0 * spread * real[bag_of]
        turn = summed(torch.atan2(own_imag, 1.0 + own_real)) - angle * target
        size = torch.exp(0.5 * summed(torch.log1p(square)))
        size = torch.where(k < n_frequencies, (1.0 if k == 0 else 2.0) * size, 0.0)
        a_real, a_imag = size * torch.cos(turn), size * torch.sin(turn)
        total += a_real
        up, down = a_real * real - a_imag * imag, a_real * imag + a_imag * real
        part += (up[bag_of] * (1.0 + own_real) + down[bag_of] * own_imag) / (1.0 + square)
    softplus = torch.nn.functional.softplus
    shift = softplus(logits + tilt[bag_of], threshold=50.0) - softplus(logits, threshold=50.0)
    log_prob = torch.log(total / odd_period) + summed(shift) - tilt * target
    posterior = (chance + spread * part / total[bag_of]).clamp(0.0, 1.0)
    all_ones = counts == sizes
    log_certain = summed(torch.nn.functional.logsigmoid(torch.where(all_ones[bag_of], logits, -logits)))
    log_prob = torch.where(certain, log_certain, log_prob)
    return log_prob, torch.where(certain[bag_of], all_ones[bag_of].double(), posterior)


def _tilt(
    torch: ModuleType,
    logits: Tensor,
    offsets: Tensor,
    bag_of: Tensor,
    target: Tensor,
    summed: Callable[[Tensor], Tensor],
) -> tuple[Tensor, Tensor]:
    """As `poisson_binomial_tilt.tilt_to` of all bags: the number added to logits, and the variance of the count."""
    sizes = offsets.diff().double()
    base = torch.log(target) - torch.log(sizes - target)
    low = base - torch.segment_reduce(logits, "max", offsets=offsets, initial=-np.inf)
    high = base - torch.segment_reduce(logits, "min", offsets=offsets, initial=np.inf)
    empty = sizes == 0
    low, high = torch.where(empty, 0.0, low), torch.where(empty, 0.0, high)
    tilt = torch.where(empty, 0.0, base - summed(logits) / sizes.clamp(min=1.0))
    tilt = torch.minimum(torch.maximum(tilt, low), high)
    variance = torch.zeros_like(tilt)
    for _ in range(200):
        chance = torch.sigmoid(logits + tilt[bag_of])
        gap, variance = summed(chance) - target, summed(chance * (1.0 - chance))
        done = (gap.abs() <= 1e-3 * variance.sqrt()) | (high - low <= 1e-15 * tilt.abs().clamp(min=1.0))
        if bool(done.all()):
            break
        high, low = torch.where(gap > 0.0, tilt, high), torch.where(gap > 0.0, low, tilt)
        newton = tilt - gap / variance
        inside = (low < newton) & (newton < high)
        tilt = torch.where(done, tilt, torch.where(inside, newton, 0.5 * (low + high)))
    return tilt, variance


def _frequencies(torch: ModuleType, variance: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
    """As `poisson_binomial_fourier.period_and_frequencies` of all bags."""
    floor = variance.clamp(min=1e-12)
    reach = TAIL / 3.0 + torch.sqrt(TAIL * TAIL / 9.0 + 2.0 * TAIL * floor)
    for _ in range(3):  # Newton on a convex function, from above its root: every step is a bound
        x = reach / floor
        reach -= (floor * ((1.0 + x) * torch.log1p(x) - x) - TAIL) / torch.log1p(x)
    period = torch.minimum(reach.ceil() + 2.0, sizes + 1.0)
    period += 1.0 - period % 2.0
    half = (period + 1.0) / 2.0
    ratio = (TAIL / (2.0 * floor)).clamp(max=1.0)
    needed = torch.floor(period * torch.asin(ratio.sqrt()) / np.pi) + 2.0
    return period, torch.where(ratio >= 1.0, half, torch.minimum(half, needed))
