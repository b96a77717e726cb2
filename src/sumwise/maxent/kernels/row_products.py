"""Products of rows of one flat table, four cells at a time: the inner loop of every Gibbs sweep.

Rows are short (two to a few dozen cells), and a compiler's own vector loops leave so few cells to the slow remainder.
Here rows are padded to a multiple of `WIDTH` and each block of that width is multiplied up in one vector register.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from sumwise.kernels.compiled import njit

WIDTH = 4  # doubles in a register that every processor with AVX2 has; others do it in two steps


def padded(n: int) -> int:
    """Return `n`, rounded up to a multiple of the block width."""
    return -(-n // WIDTH) * WIDTH


@njit(error_model="numpy")
def multiply_rows(table, starts, n_rows, n_cells, out) -> None:
    """out[v] = product over r < n_rows of table[starts[r] + v], for v < n_cells rounded up to whole blocks.

    table (F,) float64, starts (at least n_rows,) uint64, out (at least the rounded n_cells,) float64. Every row must
    be padded in the table as far as it is read. An empty product is one.
    """
    at = 0
    while at < n_cells:
        _block(table, starts, n_rows, at, out)  # pyright: ignore[reportCallIssue]
        at += WIDTH


@intrinsic
def _block(typingctx, table, starts, n_rows, at, out):  # noqa: ARG001 - Numba's signature  # pragma: no cover
    """out[at : at + WIDTH] = product over rows of table[start + at : start + at + WIDTH]."""

    def generate(context, builder, signature, args):
        arrays = [context.make_array(kind)(context, builder, value).data for kind, value in _arrays(signature, args)]
        cells, begins, target = arrays
        vector = ir.VectorType(ir.DoubleType(), WIDTH)
        total = cgutils.alloca_once_value(builder, ir.Constant(vector, [1.0] * WIDTH))
        with cgutils.for_range(builder, args[2]) as loop:
            start = builder.add(builder.load(builder.gep(begins, [loop.index])), args[3])
            row = builder.bitcast(builder.gep(cells, [start]), vector.as_pointer())
            factor = builder.load(row, align=8)  # rows start anywhere
            builder.store(builder.fmul(builder.load(total), factor), total)
        place = builder.bitcast(builder.gep(target, [args[3]]), vector.as_pointer())
        builder.store(builder.load(total), place, align=8)
        return context.get_dummy_value()

    if any(array.layout != "C" for array in (table, starts, out)):
        return None  # no such function: a strided row would be read as if it were not
    return types.void(table, starts, types.int64, types.int64, out), generate


def _arrays(signature, args):
    return [(signature.args[i], args[i]) for i in (0, 1, 4)]
