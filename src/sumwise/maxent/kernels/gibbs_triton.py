"""The inner loops of `gibbs_device` as Triton kernels; used where Triton is installed and there is a GPU."""

# Without Triton the module can be read, not used.
# pyright: reportPossiblyUnboundVariable=false

# pyright: reportIndexIssue=false
from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from sumwise.maxent.kernels.gibbs_device_plan import COPIES

if TYPE_CHECKING:
    from torch import Tensor

    from sumwise.maxent.kernels.gibbs_device import DevicePlan, DeviceSite

if find_spec("triton") is not None:
    import triton  # pyright: ignore[reportMissingImports]
    import triton.language as tl  # pyright: ignore[reportMissingImports]
TILE = 1024  # levels times chains that one program of a redraw takes
CHAINS = 128  # chains that one program takes where it goes through cliques


def jit(kernel: Callable[..., Any]) -> Any:
    """Triton's compiler; without Triton the module can be read, not used."""
    return kernel if find_spec("triton") is None else triton.jit(kernel)  # pyright: ignore[reportPossiblyUnboundVariable]


def fill_rows(site: DeviceSite, weights: Tensor) -> None:
    """As `gibbs_device.fill_rows`: one program per row and class."""
    plan = site.plan
    n_parts, n_rows = site.offset.shape
    grid = (n_rows, len(weights))
    block = triton.next_power_of_2(plan.width)
    _fill[grid](
        weights, weights.stride(0), site.offset, site.outer_step, site.inner_step, site.rows,
        n_rows, plan.m, plan.inner, N_PARTS=n_parts, WIDTH=plan.width, BLOCK=block, num_warps=1 if block <= 256 else 4,
    )  # fmt: skip


def redraw(site: DeviceSite, codes: Tensor, labels: Tensor, uniforms: Tensor) -> None:
    """As `gibbs_device.redraw`: one program per chain, or several chains where levels are few."""
    plan = site.plan
    n, block = labels.shape[0], triton.next_power_of_2(plan.width)
    each = max(1, TILE // block)
    first, second = (*plan.drawn, -1)[:2]
    _redraw[(triton.cdiv(n, each),)](
        site.rows, site.first, site.attribute, site.stride, codes, codes.stride(0), labels, uniforms, n, plan.m,
        first, second, plan.inner, plan.n_rows,
        N_FACTORS=len(plan.first), N_OTHERS=plan.attribute.shape[1], WIDTH=plan.width, BLOCK=block, EACH=each,
        num_warps=warps(block, each),
    )  # fmt: skip


def warps(block: int, each: int) -> int:
    """Warps of a redraw: one holds 32 values per thread of a tile of 1,024."""
    return max(1, min(16, block * each // 1024))


def clique_sums(
    codes: Tensor, rows: Tensor | None, values: Tensor, plan: DevicePlan, cliques: Tensor | None = None
) -> Any:
    """As `gibbs_device.clique_sums`."""
    n, n_values = codes.shape[1], len(values)
    wide = 1 if rows is not None else triton.next_power_of_2(n_values)
    out = values.new_empty((n, n_values) if rows is None else (n,))
    listed = plan.start if cliques is None else cliques
    _clique_sums[(triton.cdiv(n, CHAINS),)](
        codes, codes.stride(0), codes if rows is None else rows, values, values.stride(0), out, n, n_values,
        plan.attribute, plan.stride, plan.start, listed,
        N_LISTED=listed.shape[0], N_MEMBERS=plan.attribute.shape[1], ALL=rows is None, LISTED=cliques is not None,
        WIDE=wide, EACH=CHAINS, num_warps=4,
    )  # fmt: skip
    return out


def count_cells(codes: Tensor, packed: Tensor, plan: DevicePlan, total: Tensor, copies: Tensor) -> None:
    """Add packed words (C, n) to the chains' cells: to `total` (C, n_cells), or `copies` for cliques that have them."""
    n = codes.shape[1]
    _count[(triton.cdiv(n, CHAINS), packed.shape[0])](
        codes, codes.stride(0), packed, packed.stride(0), n, plan.attribute, plan.stride, plan.start, plan.small,
        total, total.stride(0), copies, copies.stride(0),
        N_CLIQUES=plan.start.shape[0], N_MEMBERS=plan.attribute.shape[1], COPIES=COPIES, EACH=CHAINS, num_warps=4,
    )  # fmt: skip


@jit
def _fill(
    weights, class_stride, offset, outer_step, inner_step, rows, n_rows, m, inner,
    N_PARTS: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    row = tl.program_id(0)
    k = tl.program_id(1).to(tl.int64)
    level = tl.arange(0, BLOCK)
    inside = level < m
    total = tl.zeros((BLOCK,), tl.float32)
    for p in tl.static_range(N_PARTS):
        begin = tl.load(offset + p * n_rows + row)
        outer = tl.load(outer_step + p * n_rows + row)
        within = tl.load(inner_step + p * n_rows + row)
        cell = begin + (level // inner) * outer + (level % inner) * within
        total += tl.load(weights + k * class_stride + cell, mask=inside & (begin >= 0), other=0.0)
    top = tl.max(tl.where(inside, total, float("-inf")), axis=0)
    value = tl.where(inside, total - top, -60000.0)
    tl.store(rows + (k * n_rows + row) * WIDTH + level, value.to(rows.dtype.element_ty), mask=level < WIDTH)


@jit
def _redraw(
    rows, first, attribute, stride, codes, code_stride, labels, uniforms, n, m, drawn, second, inner, n_rows,
    N_FACTORS: tl.constexpr, N_OTHERS: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, EACH: tl.constexpr,
) -> None:  # fmt: skip
    chain = tl.program_id(0) * EACH + tl.arange(0, EACH)
    here = chain < n
    level = tl.arange(0, BLOCK)[None, :]
    inside = here[:, None] & (level < WIDTH)
    k = tl.load(labels + chain, mask=here, other=0).to(tl.int64)
    total = tl.zeros((EACH, BLOCK), tl.float32)
    for f in tl.static_range(N_FACTORS):
        row = k * n_rows + tl.load(first + f)
        for q in tl.static_range(N_OTHERS):
            a = tl.load(attribute + f * N_OTHERS + q).to(tl.int64)
            s = tl.load(stride + f * N_OTHERS + q)
            row += tl.load(codes + a * code_stride + chain, mask=here, other=0).to(tl.int64) * s
        total += tl.load(rows + row[:, None] * WIDTH + level, mask=inside, other=-60000.0).to(tl.float32)
    if N_FACTORS == 0:
        total += tl.load(rows + (k * n_rows)[:, None] * WIDTH + level, mask=inside, other=-60000.0).to(tl.float32)
    top = tl.max(total, axis=1)
    mass = tl.where(level < WIDTH, tl.exp(total - top[:, None]), 0.0)
    running = tl.cumsum(mass, axis=1)
    whole = tl.max(running, axis=1)
    left = tl.load(uniforms + chain, mask=here, other=0.0) * whole
    found = tl.sum((running <= left[:, None]).to(tl.int32), axis=1)
    found = tl.minimum(found, m - 1)
    kind = codes.dtype.element_ty
    tl.store(codes + drawn * code_stride + chain, (found // inner).to(kind), mask=here)
    if second >= 0:
        tl.store(codes + second * code_stride + chain, (found % inner).to(kind), mask=here)


@jit
def _cell(codes, code_stride, chain, here, c, attribute, stride, N_MEMBERS: tl.constexpr):
    """Position within clique c of every chain."""
    cell = tl.zeros(chain.shape, tl.int64)
    for q in tl.static_range(N_MEMBERS):
        a = tl.load(attribute + c * N_MEMBERS + q).to(tl.int64)
        s = tl.load(stride + c * N_MEMBERS + q)
        cell += tl.load(codes + a * code_stride + chain, mask=here, other=0).to(tl.int64) * s
    return cell


@jit
def _clique_sums(
    codes, code_stride, which, values, value_stride, out, n, n_values, attribute, stride, start, listed,
    N_LISTED: tl.constexpr, N_MEMBERS: tl.constexpr, ALL: tl.constexpr, LISTED: tl.constexpr,
    WIDE: tl.constexpr, EACH: tl.constexpr,
) -> None:  # fmt: skip
    chain = tl.program_id(0) * EACH + tl.arange(0, EACH)
    here = chain < n
    column = tl.arange(0, WIDE)[None, :]
    wanted = here[:, None] & (column < n_values)
    if ALL:
        begin = column * value_stride
    else:
        begin = tl.load(which + chain, mask=here, other=0).to(tl.int64)[:, None] * value_stride + column * 0
    total = tl.zeros((EACH, WIDE), tl.float32)
    for i in range(N_LISTED):
        c = i
        if LISTED:
            c = tl.load(listed + i).to(tl.int32)
        cell = tl.load(start + c) + _cell(codes, code_stride, chain, here, c, attribute, stride, N_MEMBERS)
        total += tl.load(values + begin + cell[:, None], mask=wanted, other=0.0)
    if ALL:
        tl.store(out + chain[:, None] * n_values + column, total, mask=wanted)
    else:
        tl.store(out + chain[:, None] + column * 0, total, mask=wanted)


@jit
def _count(
    codes, code_stride, packed, packed_stride, n, attribute, stride, start, small,
    total, total_stride, copies, copy_stride,
    N_CLIQUES: tl.constexpr, N_MEMBERS: tl.constexpr, COPIES: tl.constexpr, EACH: tl.constexpr,
) -> None:  # fmt: skip
    chain = tl.program_id(0) * EACH + tl.arange(0, EACH)
    score = tl.program_id(1).to(tl.int64)
    here = chain < n
    word = tl.load(packed + score * packed_stride + chain, mask=here, other=0)
    for c in range(N_CLIQUES):
        cell = _cell(codes, code_stride, chain, here, c, attribute, stride, N_MEMBERS)
        copied = tl.load(small + c)
        if copied >= 0:
            place = copies + score * copy_stride + (copied + cell) * COPIES + chain % COPIES
            tl.atomic_add(place, word, mask=here, sem="relaxed")
        else:
            tl.atomic_add(total + score * total_stride + tl.load(start + c) + cell, word, mask=here, sem="relaxed")
