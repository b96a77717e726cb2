"""Gibbs sampling of log-linear models on a torch device: as `gibbs`, with all chains redrawing one site at a time.

Needs NumPy and torch alone. On a GPU with Triton the inner loops are the kernels of `gibbs_triton`; elsewhere they are
plain torch operations of the same result up to rounding. Sums over chains are integers (a count and the
share of a label in fixed point, packed in one word), so they don't depend on the order in which chains are added.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sumwise.errors import DataError
from sumwise.maxent.kernels.gibbs_device_plan import COPIES, Counting, Site, counting, sites
from sumwise.maxent.kernels.loglinear import Layout

if TYPE_CHECKING:
    from torch import Tensor

    from sumwise.maxent.kernels.gibbs_plan import Jump  # which loads Numba

EMPTY = -60_000.0  # log-weight beyond the last level of a row; the lowest whole thousands of half precision
GATHERED = 2**24  # entries that a plain gather may hold at once
STACKED = 18  # tensors of all parameters that a step holds at once
MAX_SITE_LEVELS = 2**15  # levels of a site that one program takes


def _torch() -> Any:
    return importlib.import_module("torch")


class DeviceChains(NamedTuple):
    """State of all chains: codes (D, n), labels (n,), and the generator of their uniforms."""

    codes: Tensor
    labels: Tensor
    generator: Any


class DeviceSite(NamedTuple):
    """A `Site` on the device, and its rows (K, R, width)."""

    plan: Site
    first: Tensor
    attribute: Tensor
    stride: Tensor
    offset: Tensor
    outer_step: Tensor
    inner_step: Tensor
    rows: Tensor


class DeviceJump(NamedTuple):
    """A `Jump` on the device: per attribute log-shares (R, S), the flat cumulative shares plus row; cliques touched."""

    plan: Jump
    log_shares: list[Tensor]
    cumulative: list[Tensor]
    touched: Tensor


class DevicePlan(NamedTuple):
    """What a sweep needs besides chains and parameters."""

    layout: Layout
    sites: tuple[DeviceSite, ...]
    jumps: tuple[DeviceJump, ...]
    counting: Counting
    attribute: Tensor  # (T, Q)
    stride: Tensor
    start: Tensor
    small: Tensor
    small_cells: Tensor
    kernels: ModuleType | None  # `gibbs_triton`, or None


def device_plan(
    lay: Layout,
    n_classes: int,
    n_chains: int,
    device: str,
    *,
    blocks: tuple[tuple[int, ...], ...] = (),
    jumps: tuple[Jump, ...] = (),
    half: bool = True,
    triton: bool | None = None,
) -> DevicePlan:
    """Lay out a sweep on a device. `half` keeps rows in half precision; `triton` is found out unless it is given."""
    torch = _torch()
    kernels = _kernels(device) if triton is None else _triton() if triton else None
    place, kind = torch.device(device), torch.float16 if half else torch.float32

    def put(array: np.ndarray) -> Tensor:
        return torch.as_tensor(np.ascontiguousarray(array), device=place)

    ready = []
    for site in sites(lay, tuple(blocks), n_chains):
        rows: Any = torch.full((n_classes, site.n_rows, site.width), EMPTY, dtype=kind, device=place)
        arrays = [site.first, site.attribute.astype(np.int32), site.stride.astype(np.int32), *site[-3:]]
        ready.append(DeviceSite(site, *(put(a) for a in arrays), rows=rows))
    found = counting(lay)
    moves = tuple(_jump(lay, j, put) for j in jumps)
    return DevicePlan(lay, tuple(ready), moves, found, *(put(a) for a in found), kernels=kernels)


def _kernels(device: str) -> Any:
    """The Triton kernels where they can run: on a CUDA device, with Triton installed."""
    return _triton() if str(device).startswith("cuda") and importlib.util.find_spec("triton") is not None else None


def _triton() -> Any:
    from sumwise.maxent.kernels import gibbs_triton

    return gibbs_triton


def _jump(lay: Layout, jump: Jump, put: Callable[..., Any]) -> DeviceJump:
    shares = [np.asarray(p, dtype=float) for p in jump.shares]
    cumulative = []
    for p in shares:
        running = np.cumsum(p, axis=1)
        cumulative.append(put((running / running[:, -1:] + np.arange(len(p))[:, None]).ravel()))
    touched = [c for c, q in enumerate(lay.cliques) if set(q) & set(jump.attributes)]
    return DeviceJump(jump, [put(np.log(p).astype(np.float32)) for p in shares], cumulative, put(np.array(touched)))


def to_device(codes: np.ndarray, labels: np.ndarray, sizes: tuple[int, ...], device: str, seed: int) -> DeviceChains:
    """Chains (n, D) from here on the device, with a generator of their own."""
    torch = _torch()
    kind = torch.int16 if max(sizes) <= 2**15 else torch.int32
    generator = torch.Generator(device=device)
    generator.manual_seed(int(seed))
    moved = torch.as_tensor(np.ascontiguousarray(codes.T.astype(np.int32)), device=device).to(kind)
    return DeviceChains(moved, torch.as_tensor(labels.astype(np.int32), device=device), generator)


def bytes_needed(lay: Layout, n_classes: int, n_chains: int, n_scores: int, half: bool = True) -> dict[str, int]:
    """Memory that training on a device takes, by use."""
    rows = sum(s.n_rows * s.width for s in sites(lay, (), n_chains))
    few = int(counting(lay).small_cells.size)
    return {
        "rows of the tables": n_classes * rows * (2 if half else 4),
        "counts": 8 * n_scores * (2 * lay.n_cells + (COPIES + 2) * few),
        "parameters and their means": 4 * lay.n_params * (1 + n_scores) * STACKED,
        "chains": n_chains * (2 * len(lay.sizes) + 4 + 4 * (len(lay.sizes) + 2)),
    }


def sweep_halves(
    chains: DeviceChains, plan: DevicePlan, weights: Tensor, theta: Tensor, offsets: Tensor, marginal: bool = True
) -> list[tuple[Tensor, Tensor, int]]:
    """Redraw every site of every chain, then its label; return (counts, label sums, chains) of each half.

    weights (K, n_cells) and theta (C, n_cells) in single precision, offsets (K,), all on the device; as in
    `gibbs.sweep_halves`.
    """
    torch = _torch()
    codes, labels, generator = chains.codes, chains.labels, chains.generator
    n = len(labels)
    uniforms = torch.rand((len(plan.sites) + 1, n), generator=generator, device=codes.device)
    for site, u in zip(plan.sites, uniforms):
        fill_rows(site, weights, plan.kernels)
        redraw(site, codes, labels, u, plan.kernels)
    for jump in plan.jumps:
        _propose(jump, plan, chains, weights)
    half = (n + 1) // 2
    out = []
    for part in (slice(0, half), slice(half, n)):
        counts, sums = _labels_and_counts(
            codes[:, part], labels[part], uniforms[-1, part], plan, theta, offsets, marginal
        )
        out.append((counts, sums, part.stop - part.start))
    return out


def fill_rows(site: DeviceSite, weights: Tensor, kernels: ModuleType | None = None) -> None:
    """Write the site's rows: sums of weights over the cliques of a factor, less each row's largest entry."""
    torch = _torch()
    if kernels is not None:
        kernels.fill_rows(site, weights)
        return
    plan = site.plan
    level = torch.arange(plan.m, device=weights.device)
    step = max(1, GATHERED // plan.m)
    for begin in range(0, plan.n_rows, step):
        rows = slice(begin, begin + step)
        total: Any = 0.0
        for offset, outer, inner in zip(site.offset, site.outer_step, site.inner_step):
            here = offset[rows, None]
            cell = here + (level // plan.inner) * outer[rows, None] + (level % plan.inner) * inner[rows, None]
            total = total + torch.where(here >= 0, weights[:, cell.clamp(min=0)], 0.0)
        site.rows[:, rows, : plan.m] = (total - total.amax(dim=2, keepdim=True)).to(site.rows.dtype)


def redraw(
    site: DeviceSite, codes: Tensor, labels: Tensor, uniforms: Tensor, kernels: ModuleType | None = None
) -> None:
    """Draw the site anew for every chain given its label and all else, in place, by one uniform per chain."""
    if kernels is not None and site.plan.width <= MAX_SITE_LEVELS:
        kernels.redraw(site, codes, labels, uniforms)
        return
    torch = _torch()
    plan = site.plan
    flat = site.rows.view(-1, plan.width)
    step = max(1, GATHERED // plan.width)
    for begin in range(0, len(labels), step):
        part = slice(begin, begin + step)
        total: Any = 0.0
        for f in range(len(plan.first)):
            row = labels[part].long() * plan.n_rows + int(plan.first[f])
            for a, s in zip(plan.attribute[f], plan.stride[f]):
                row = row + codes[a, part].long() * int(s)
            total = total + flat[row].float()
        if not len(plan.first):
            total = flat[labels[part].long() * plan.n_rows].float()
        mass = torch.exp(total - total.amax(dim=1, keepdim=True))
        running = torch.cumsum(mass, dim=1)
        left = uniforms[part] * running[:, -1]
        found = (running <= left[:, None]).sum(dim=1).clamp(max=plan.m - 1)
        _store(plan, codes, part, found)


def _store(plan: Site, codes: Tensor, part: slice, found: Tensor) -> None:
    codes[plan.drawn[0], part] = (found // plan.inner).to(codes.dtype)
    if len(plan.drawn) > 1:
        codes[plan.drawn[1], part] = (found % plan.inner).to(codes.dtype)


def cells_of(c: int, codes: Tensor, plan: DevicePlan) -> Tensor:
    """The cell of clique c that every chain is in."""
    found = plan.counting
    cell: Any = int(found.start[c])
    for a, s in zip(found.attribute[c], found.stride[c]):
        if s:
            cell = cell + codes[a].long() * int(s)
    return cell


def clique_sums(
    codes: Tensor, rows: Tensor | None, values: Tensor, plan: DevicePlan, cliques: Tensor | None = None
) -> Tensor:
    """Sum over cliques of ``values[rows, cell]`` for every chain (n,); without rows, of each row of values (n, C)."""
    torch = _torch()
    if plan.kernels is not None:
        return plan.kernels.clique_sums(codes, rows, values, plan, cliques)
    total: Any = torch.zeros((len(values), codes.shape[1]), device=codes.device) if rows is None else 0.0
    for c in range(len(plan.counting.start)) if cliques is None else cliques.tolist():
        cell = cells_of(c, codes, plan)
        total = total + (values[:, cell] if rows is None else values[rows.long(), cell])
    return total.T if rows is None else total


def _propose(jump: DeviceJump, plan: DevicePlan, chains: DeviceChains, weights: Tensor) -> None:
    """Propose several attributes at once from their tree; accept by the ratio of model to proposal. In place."""
    torch, codes, labels = _torch(), chains.codes, chains.labels
    n = codes.shape[1]
    uniforms = torch.rand((len(jump.plan.attributes) + 1, n), generator=chains.generator, device=codes.device)
    proposed = codes.clone()
    ratio = torch.zeros(n, device=codes.device)
    for i, (a, parent) in enumerate(zip(jump.plan.attributes, jump.plan.parents)):
        size = jump.log_shares[i].shape[1]
        old, new = (x[parent].long() if parent >= 0 else 0 * labels.long() for x in (codes, proposed))
        drawn = torch.searchsorted(jump.cumulative[i], uniforms[i].double() + new, right=True) - new * size
        drawn = drawn.clamp(0, size - 1)
        proposed[a] = drawn.to(codes.dtype)
        ratio += jump.log_shares[i][old, codes[a].long()] - jump.log_shares[i][new, drawn]
    for x, sign in ((proposed, 1.0), (codes, -1.0)):
        ratio += sign * clique_sums(x, labels, weights, plan, jump.touched)
    accept = torch.log(uniforms[-1]) < ratio
    codes.copy_(torch.where(accept, proposed, codes))


def _labels_and_counts(
    codes: Tensor, labels: Tensor, uniforms: Tensor, plan: DevicePlan, theta: Tensor, offsets: Tensor, marginal: bool
) -> tuple[Tensor, Tensor]:
    """Draw labels given codes, in place; return counts (n_cells,) and label sums (C, n_cells)."""
    torch = _torch()
    scores = clique_sums(codes, None, theta, plan)
    if len(theta) == 1:
        p = torch.sigmoid(scores + (offsets[1] - offsets[0]))
        drawn = (uniforms < p[:, 0]).to(labels.dtype)
        hit = drawn[:, None]
    else:
        p = torch.softmax(scores + offsets, dim=1)
        drawn = (torch.cumsum(p, dim=1) <= uniforms[:, None]).sum(dim=1).clamp(max=p.shape[1] - 1).to(labels.dtype)
        hit = torch.nn.functional.one_hot(drawn.long(), p.shape[1])
    labels.copy_(drawn)
    return cell_sums(codes, p if marginal else hit.float(), plan)


def cell_sums(codes: Tensor, shares: Tensor, plan: DevicePlan) -> tuple[Tensor, Tensor]:
    """How many chains are in every cell (n_cells,), and the sums of their shares (n, C) there (C, n_cells)."""
    torch = _torch()
    n_bits, shift = packing(codes.shape[1])
    packed = (torch.round(shares * float(2**n_bits)).long() + (1 << shift)).T.contiguous()
    sums = _packed_sums(codes, packed, plan)
    return (sums[0] >> shift).float(), (sums & ((1 << shift) - 1)).float().mul_(2.0**-n_bits)


def packing(n: int) -> tuple[int, int]:
    """Bits of a share's fraction, and position of the count above the sum of n shares, in 63 bits."""
    wide = math.ceil(math.log2(n + 1))
    if 63 - 2 * wide < 8:
        raise DataError(f"{n:,} chains are more than a count can hold.", hint="use fewer chains.")
    n_bits = min(30, 63 - 2 * wide)
    return n_bits, n_bits + wide


def _packed_sums(codes: Tensor, packed: Tensor, plan: DevicePlan) -> Tensor:
    """Sum packed words (C, n) by cell: (C, n_cells)."""
    torch = _torch()
    total = torch.zeros((len(packed), plan.layout.n_cells), dtype=torch.int64, device=codes.device)
    if plan.kernels is None:
        for c in range(len(plan.counting.start)):
            total.index_add_(1, cells_of(c, codes, plan), packed)
        return total
    copies = torch.zeros((len(packed), len(plan.small_cells), COPIES), dtype=torch.int64, device=codes.device)
    plan.kernels.count_cells(codes, packed, plan, total, copies)
    total[:, plan.small_cells] = copies.sum(dim=2)
    return total
